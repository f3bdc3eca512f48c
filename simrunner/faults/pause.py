"""Pause: SIGSTOP of an actor's process for some rounds, then SIGCONT. It goes on in the middle of what it did.

The stale owner: its lease lapses, others recover and claim its job, and then it comes back with its old token. Whatever locks its
open transaction held, it holds as long as it is paused.
"""

from __future__ import annotations

from random import Random

from simrunner.faults.fault import Fault, drawn_from
from simrunner.model.operations import SEARCHED_CRASH_POINTS
from simrunner.model.tape import PAUSE
from simrunner.model.workload import FaultSpec

_LONGEST_ROUNDS = 6
"""Of a drawn one: longer than the usual lease of three rounds and the recovery after it."""


def drawn(stream: Random) -> FaultSpec:
    """A pause of a worker at a crash point, shorter or longer than its lease."""
    point = drawn_from(stream, SEARCHED_CRASH_POINTS)
    return FaultSpec(PAUSE, point, rounds=1 + int(stream.random() * _LONGEST_ROUNDS))


FAULT = Fault(
    PAUSE,
    "SIGSTOP of an actor's process for some rounds, then SIGCONT",
    drawn,
    needs=("rounds",),
    amount=lambda spec: spec.rounds,
)
