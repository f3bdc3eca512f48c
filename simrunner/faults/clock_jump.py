"""Clock-jump: the database's time goes forward, or back, between two steps, as when a clock is set.

Leases lapse under their owners' hands, or last longer than they should; a job that was available is no more.
"""

from __future__ import annotations

from random import Random

from simrunner.faults.fault import Fault, drawn_from, drawn_ms
from simrunner.model.operations import SEARCHED_CRASH_POINTS
from simrunner.model.tape import JUMP
from simrunner.model.workload import FaultSpec

_MOST_MS = 30_000


def drawn(stream: Random) -> FaultSpec:
    """A jump of up to half a minute while a worker stands at a crash point."""
    return FaultSpec(JUMP, drawn_from(stream, SEARCHED_CRASH_POINTS), ms=drawn_ms(stream, _MOST_MS))


FAULT = Fault(
    JUMP,
    "the database's time jumps forward or back between two steps",
    drawn,
    needs=("ms",),
    of_actor=False,
    amount=lambda spec: spec.ms,
)
