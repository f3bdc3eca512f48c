"""What killed commands left on this machine: servers that nobody uses, and folders of their sockets."""

from __future__ import annotations

from collections.abc import Iterator

from simrunner.model.remark import Level, Remark
from simrunner.runtime.account import Account
from simrunner.runtime.clearing import what_is_left
from simrunner.runtime.slot import left_slots


def leftovers(account: Account) -> Iterator[Remark]:
    """Look at each slot that a killed command has left."""
    for slot in left_slots(account):
        yield Remark(
            Level.HINT,
            "leftover-server",
            f"a killed command left {' and '.join(what_is_left(slot))} here",
            "nothing need be done: the next command that starts a server cleans it up, this one too",
            str(slot.folder),
        )
