"""Lose-commit and lose-ack: the connection ends just before a statement reaches the server, or when that has answered.

The client cannot tell one from the other: the outcome is unknown, and what became of the transaction is read from committed
truth. It is rolled back in the first case and committed in the second. The worker goes on as after `terminate-backend`.
"""

from __future__ import annotations

from functools import partial
from random import Random

from simrunner.faults.fault import Fault, drawn_from, is_sent, parked
from simrunner.model.tape import LOSE_ACK, LOSE_COMMIT
from simrunner.model.workload import FaultSpec

_COMMITS = ("claim:COMMIT", "effect:COMMIT", "complete:COMMIT")


def drawn(kind: str, stream: Random) -> FaultSpec:
    """The loss of a worker's connection around a COMMIT."""
    return FaultSpec(kind, at=drawn_from(stream, _COMMITS))


BEFORE = Fault(
    LOSE_COMMIT,
    "an actor's connection ends before its COMMIT reaches the server",
    partial(drawn, LOSE_COMMIT),
    needs=("at",),
    can_strike=parked,
    stands_at=is_sent,
)
AFTER = Fault(
    LOSE_ACK,
    "an actor's connection ends when the server has answered its COMMIT; it never hears the answer",
    partial(drawn, LOSE_ACK),
    needs=("at",),
    can_strike=parked,
    stands_at=is_sent,
)
