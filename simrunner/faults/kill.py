"""Kill: SIGKILL of an actor's process while it stands at a crash point. The transaction it had open is rolled back."""

from __future__ import annotations

from random import Random

from simrunner.faults.fault import Fault, drawn_from
from simrunner.model.operations import SEARCHED_CRASH_POINTS
from simrunner.model.tape import KILL
from simrunner.model.workload import FaultSpec


def drawn(stream: Random) -> FaultSpec:
    """A kill of a worker at one of the crash points at which it stands in a campaign."""
    return FaultSpec(KILL, drawn_from(stream, SEARCHED_CRASH_POINTS))


FAULT = Fault(KILL, "SIGKILL of an actor's process at a crash point", drawn, in_rounds_mode=True)
