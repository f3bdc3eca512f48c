"""Clock-skew: the clock of one actor is ahead of the database's, or behind it, until the faults end.

A design notices it where its SQL takes the client's time as the parameter `:'client_now'`: a lease that is stamped by one clock
and judged by another is too long or too short.
"""

from __future__ import annotations

from random import Random

from simrunner.faults.fault import Fault, drawn_ms
from simrunner.model.tape import SKEW
from simrunner.model.workload import FaultSpec

_MOST_MS = 30_000


def drawn(stream: Random) -> FaultSpec:
    """A worker's clock that is up to half a minute wrong."""
    return FaultSpec(SKEW, ms=drawn_ms(stream, _MOST_MS))


FAULT = Fault(SKEW, "the clock of one actor differs from the database's", drawn, needs=("ms",), amount=lambda spec: spec.ms)
