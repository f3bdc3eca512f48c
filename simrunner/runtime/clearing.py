"""What killed commands left on this machine is ended and removed by the next one that starts a server, which says so."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from pathlib import Path

import psycopg

from simrunner.runtime.account import Account
from simrunner.runtime.admin import texts
from simrunner.runtime.postmaster import end_leftovers, processes_of
from simrunner.runtime.slot import Slot, has_socket_folder, left_slots, remove_socket_folder

_log = logging.getLogger(__name__)


def what_is_left(slot: Slot) -> list[str]:
    """Return what lies in a slot, whose lock is ours, of a command that is no more."""
    if not has_socket_folder(slot.folder):
        return []
    pids = processes_of(slot)
    return [*([f"the processes {', '.join(map(str, pids))}"] if pids else []), "the folder of a socket"]


def clear_others(account: Account) -> None:
    """Clear the slots that killed commands left and nobody has taken since. Raises ServerError if a process does not end.

    Their databases lie in clusters that do not run, and go with them: a new cluster takes less than a second to make.
    """
    for slot in left_slots(account):
        left = what_is_left(slot)
        end_leftovers(slot)
        for data in sorted(slot.folder.glob("data-*")):
            shutil.rmtree(data)
        remove_socket_folder(slot)
        tell(slot, [*left, "its cluster"])


def remove_orphans(data: Path, connection: psycopg.Connection) -> list[str]:
    """Remove the files of databases that a server knows nothing of. Returns what it was.

    A CREATE or DROP DATABASE that a crash interrupts leaves such, and the recovery after it does not remove them.
    """
    known = frozenset(texts(connection, "SELECT oid FROM pg_database"))
    orphans = [folder for folder in sorted((data / "base").iterdir()) if folder.name.isdigit() and folder.name not in known]
    for folder in orphans:
        shutil.rmtree(folder)
    return [f"the files of database {folder.name}" for folder in orphans]


def tell(slot: Slot, what: Sequence[str]) -> None:
    """Say what was cleared, if anything was."""
    if what:
        _log.warning("Cleared what an ended command had left in %s: %s.", slot.folder, ", ".join(what))
