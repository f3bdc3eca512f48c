"""What killed commands left on this machine: servers that nobody uses, and folders of their sockets."""

from __future__ import annotations

from collections.abc import Iterator

from simrunner.model.remark import Level, Remark
from simrunner.runtime.account import Account
from simrunner.runtime.postmaster import processes_of
from simrunner.runtime.slot import Slot, idle_slots


def leftovers(account: Account) -> Iterator[Remark]:
    """Look at each slot that no command holds. Whoever takes such a slot next ends what is left in it."""
    for slot in idle_slots(account):
        if what := _left(slot):
            yield Remark(
                Level.HINT,
                "leftover-server",
                f"a killed command left {what} here",
                "nothing need be done: the next command that takes this slot cleans it up, this one too",
                str(slot.folder),
            )


def _left(slot: Slot) -> str:
    pids = processes_of(slot)
    socket = slot.folder / "socket"
    parts = [f"the processes {', '.join(map(str, pids))}"] if pids else []
    parts += ["the folder of a socket"] if socket.is_symlink() or socket.exists() else []
    return " and ".join(parts)
