"""The data folder of a slot: made by initdb when it is missing, was made otherwise, or is older than the last boot.

The server does not force its files to disk (fsync is off). They survive every crash of its processes, but after a crash of
the machine they may be damaged without a sign, so a boot ends their life.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from simrunner.errors import ServerError
from simrunner.runtime.account import private_folder
from simrunner.runtime.launch import output_of
from simrunner.runtime.slot import Slot
from simrunner.runtime.spreading import spread_children

SUPERUSER = "postgres"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_OPTIONS = ("--username", SUPERUSER, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
_OPTIONS_SINCE_18 = ("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-data-checksums")


def data_folder(slot: Slot, major: int) -> Path:
    """Return where the slot's data folder is, or will be."""
    boot = _BOOT_ID.read_text().strip() if _BOOT_ID.exists() else ""
    key = hashlib.sha256(repr((major, _options(major), slot.account, boot)).encode()).hexdigest()[:12]
    return slot.folder / f"data-{key}"


def prepare_data(slot: Slot, major: int, binaries: Path) -> bool:
    """Make the data folder unless it is there, and remove others. Returns whether it was made now. Raises ServerError."""
    data = data_folder(slot, major)
    for other in slot.folder.glob("data-*"):
        if other != data:
            shutil.rmtree(other)
    is_new = not data.is_dir()
    if is_new:
        spread_children(slot.folder)
        _initdb(slot, major, binaries, data)
    spread_children(data / "base")
    return is_new


def _initdb(slot: Slot, major: int, binaries: Path, data: Path) -> None:
    new = slot.folder / "data-new"  # renamed when it is complete: a kill in between leaves no half-made cluster
    private_folder(new, slot.account)
    code, output = output_of(slot.account, [str(binaries / "initdb"), "--pgdata", str(new), *_options(major)], slot.folder)
    if code != 0:
        raise ServerError(f"initdb failed in {slot.folder}: {output}")
    new.rename(data)


def _options(major: int) -> tuple[str, ...]:
    return _OPTIONS + (_OPTIONS_SINCE_18 if major >= 18 else ())
