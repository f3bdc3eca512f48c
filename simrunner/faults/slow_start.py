"""Slow-start: the process of an actor ends, and the next one starts only some rounds later.

A recoverer that is not there when the first leases lapse, a worker that joins late. At the actor's first step in round 1 it is as
if it had never started before.
"""

from __future__ import annotations

from random import Random

from simrunner.faults.fault import Fault, drawn_from
from simrunner.model.operations import SEARCHED_CRASH_POINTS
from simrunner.model.tape import SLOW_START
from simrunner.model.workload import FaultSpec

_LONGEST_ROUNDS = 4


def drawn(stream: Random) -> FaultSpec:
    """A worker that is gone for some rounds."""
    point = drawn_from(stream, SEARCHED_CRASH_POINTS)
    return FaultSpec(SLOW_START, point, rounds=1 + int(stream.random() * _LONGEST_ROUNDS))


FAULT = Fault(
    SLOW_START,
    "SIGKILL; the actor's next process starts only some rounds later",
    drawn,
    needs=("rounds",),
    amount=lambda spec: spec.rounds,
)
