"""Invariants that a design may promise although this version has no checker of them: they are shown, never judged."""

from __future__ import annotations

UNDECIDED: dict[str, str] = {
    "lease-outlives-work": "no lease runs out while its owner is alive and still working",
    "enqueue-once": "an acknowledged key has one row, a unique key one that is alive",
    "poison-isolated": "one bad row does not make statements over many rows fail again and again",
    "deadlock-freedom": "no statement ends as the victim of a deadlock",
    "wakeup-delivered": "an idle listener hears of an eligible job in time",
    "cancel-honoured": "after an acknowledged cancel no new execution starts",
    "fan-in-once": "the end of a group's last member completes the group exactly once",
    "single-leader": "there is one leader at a time, and only it does what only a leader may do",
    "nothing-leaked": "at the end nothing is held without an owner",
}
"""Name -> the invariant in one line of plain words."""
