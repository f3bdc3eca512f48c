"""Terminate: SIGTERM of an actor's process, as a deployment ends a worker.

A worker that tidies up (`tidies_up` of design.toml) rolls back what is open, gives back the jobs that it holds, each in steps of
its own, and exits. One that does not is dead at once, as after a kill.
"""

from __future__ import annotations

from random import Random

from simrunner.faults.fault import Fault, drawn_from
from simrunner.model.operations import SEARCHED_CRASH_POINTS
from simrunner.model.tape import TERMINATE
from simrunner.model.workload import FaultSpec


def drawn(stream: Random) -> FaultSpec:
    """The end of a worker at a crash point."""
    return FaultSpec(TERMINATE, drawn_from(stream, SEARCHED_CRASH_POINTS))


FAULT = Fault(TERMINATE, "SIGTERM of an actor's process, which may tidy up before it exits", drawn)
