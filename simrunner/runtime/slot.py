"""Slots: one private cluster for each simrunner command that runs at the same time.

<cache>/pg18/0/          ours, and for root nobody else's, so that no link can be put in it
    lock                 flock: held by the command that uses the slot
    log                  what the server wrote since it was last started
    socket               private folder of the server's socket, or a link to one with a shorter path
    data-<key>/          the cluster; another key means that it was made otherwise, and it is made anew
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from simrunner.errors import ServerError
from simrunner.limits import LIMITS
from simrunner.runtime.account import Account, cache_folder, hand_over, open_folder, private_folder

SOCKET_NAME = ".s.PGSQL.5432"
_SOCKET = "socket"
_SLOTS = 64
_SHORT_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - mkdtemp makes a private folder in it
_PREFIX = "simrunner-"


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot whose lock is held."""

    folder: Path
    account: Account

    @property
    def log(self) -> Path:
        """The server's log."""
        return self.folder / "log"


@contextmanager
def locked_slot(major: int, account: Account) -> Iterator[Slot]:
    """Hold the first free slot of a major version. Raises ServerError if all are taken.

    The lock belongs to the open file: a forked child that keeps its descriptor keeps the slot, so children close it.
    """
    home = open_folder(cache_folder() / f"pg{major}")
    for number in range(_SLOTS):
        folder = open_folder(home / str(number))
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if _try_lock(lock):
                yield Slot(folder, account)
                return
        finally:
            os.close(lock)
    raise ServerError(f"{_SLOTS} simrunner commands already run embedded servers in {home}; end some of them")


def left_slots(account: Account) -> Iterator[Slot]:
    """Yield each slot that a killed command has left, of every major version; it is held while it is looked at.

    A command that ends by itself removes the folder of its socket last, so one that lies in a slot without a holder tells.
    """
    for folder in sorted(cache_folder().glob("pg*/*/lock")):
        if not has_socket_folder(folder.parent):
            continue
        lock = os.open(folder, os.O_RDWR)
        try:
            if _try_lock(lock):
                yield Slot(folder.parent, account)
        finally:
            os.close(lock)


def _try_lock(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def make_socket_folder(slot: Slot) -> Path:
    """Make the private folder of the socket, where its path is short enough. Raises ServerError if there is no such place."""
    remove_socket_folder(slot)
    place = slot.folder / _SOCKET
    if _usable(place):
        return private_folder(place, slot.account)
    for short in _SHORT_FOLDERS:
        if os.access(short, os.W_OK | os.X_OK):
            target = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=short))
            place.symlink_to(target)
            hand_over(target, slot.account)
            return target
    raise ServerError(f"{place} is too long for a socket's path, and none of {', '.join(_SHORT_FOLDERS)} can be written to")


def has_socket_folder(folder: Path) -> bool:
    """Whether the folder of a socket, or a link to one, lies in a slot."""
    return os.path.lexists(folder / _SOCKET)


def remove_socket_folder(slot: Slot) -> None:
    """Remove the socket's folder, also one that a killed command left behind."""
    place = slot.folder / _SOCKET
    if place.is_symlink():
        target = place.readlink()
        if target.name.startswith(_PREFIX):
            shutil.rmtree(target, ignore_errors=True)
        place.unlink()
    elif place.exists():
        shutil.rmtree(place)


def _usable(folder: Path) -> bool:
    # libpq takes a comma in `host` for the end of a host name
    return len(os.fsencode(folder / SOCKET_NAME)) <= LIMITS.socket_path_bytes and "," not in str(folder)
