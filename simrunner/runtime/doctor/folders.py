"""Whether a folder can hold what is kept in it: written, locked, renamed, linked, and with room."""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from simrunner.config.place import shown
from simrunner.limits import LIMITS
from simrunner.model.remark import Level, Remark

_MIB = 1 << 20


def examine_folder(noun: str, folder: Path) -> Iterator[Remark]:
    """Try in a folder, or where it would be made, what a run does there. `noun` begins the names of the remarks."""
    there = folder.absolute()
    while not there.exists() and there != there.parent:
        there = there.parent
    try:
        _use(there)
    except OSError as error:
        message = f"{shown(folder)} cannot be used: {error.strerror}"
        remedy = "make it a folder on a local disk that you can write to, or work in another directory"
        yield Remark(Level.ERROR, f"{noun}-folder", message, remedy, str(there))
        return
    free_bytes = shutil.disk_usage(there).free
    if free_bytes < LIMITS.free_bytes_min:
        message = f"only {free_bytes // _MIB} MiB are free; a run or a server that finds no room fails"
        yield Remark(Level.WARNING, f"{noun}-space", message, f"free {LIMITS.free_bytes_min // _MIB} MiB", str(there))


def _use(folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder, prefix=".simrunner-doctor-") as own:
        file = Path(own, "new")
        with file.open("wb") as opened:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            opened.write(bytes(4096))
        file.rename(Path(own, "kept"))
        Path(own, "latest").symlink_to("kept")
