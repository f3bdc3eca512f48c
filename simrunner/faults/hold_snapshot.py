"""Hold-snapshot: a session that has nothing to do with the queue keeps an old snapshot, as a long report does.

Until it lets go, nobody in the database may remove a row version that died after the snapshot was taken, nor its index entries:
VACUUM passes them over, and so does whoever cleans a page up on the way. What a claim has to walk over at the head of its index
grows with every job that is done. https://www.postgresql.org/docs/18/routine-vacuuming.html
"""

from __future__ import annotations

from random import Random

from simrunner.faults.fault import Fault, drawn_from
from simrunner.model.operations import SEARCHED_CRASH_POINTS
from simrunner.model.tape import HOLD_SNAPSHOT
from simrunner.model.workload import FaultSpec

_LONGEST_ROUNDS = 60
"""Of a drawn one: what it keeps grows with the jobs that end meanwhile."""


def drawn(stream: Random) -> FaultSpec:
    """A snapshot that is taken while a worker stands at a crash point, and held for some rounds."""
    point = drawn_from(stream, SEARCHED_CRASH_POINTS)
    return FaultSpec(HOLD_SNAPSHOT, point, rounds=1 + int(stream.random() * _LONGEST_ROUNDS))


FAULT = Fault(
    HOLD_SNAPSHOT,
    "a session of somebody else keeps an old snapshot for some rounds",
    drawn,
    needs=("rounds",),
    of_actor=False,
    amount=lambda spec: spec.rounds,
)
