"""Disks that are full or read-only: small ones of our own where we may mount, else limits and permissions to the same effect."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

DISK_BYTES = 2 << 20


def small_disk(place: Path, size_bytes: int = DISK_BYTES) -> AbstractContextManager[bool]:
    """Mount a small disk on a new folder for the time of the block. False: we may not, it is an ordinary folder."""
    return _mounted(place, f"size={size_bytes},mode=755")


def fill(place: Path, pids: list[int], *, mounted: bool) -> Path:
    """Leave no room on a small disk; of an ordinary folder: forbid processes to make any file longer. Returns what fills it."""
    filler = place / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            for size in (4096, 1):
                while mounted:
                    if file.write(bytes(size)) < size:
                        break
        except OSError:
            pass
    for pid in [] if mounted else pids:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    return filler


@contextmanager
def read_only(place: Path) -> Iterator[Path]:
    """Yield a folder that nobody may write to."""
    with _mounted(place, "ro") as mounted:
        if mounted:
            yield place
        elif os.geteuid() == 0:  # permissions do not bind root, but this does
            yield Path("/sys/results")
        else:
            place.chmod(0o555)
            try:
                yield place
            finally:
                place.chmod(0o755)


@contextmanager
def _mounted(place: Path, options: str) -> Iterator[bool]:
    """Mount a disk in memory on a new folder for the time of the block, if we may."""
    place.mkdir()
    line = ["mount", "-t", "tmpfs", "-o", options, "simrunner-tests", str(place)]
    mounted = os.geteuid() == 0 and subprocess.run(line, check=False, capture_output=True).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", str(place)], check=True)
