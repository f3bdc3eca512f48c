"""Reuse-identity: an actor is killed, and its next process has the dead one's identity, as with a host name or a fixed name.

Usually `:'worker_id'` is new for every process (`worker-a.2`). What a design infers from an identity, say that its owner lives,
is then said of the wrong process. Tokens stay unique: they are of the process.
"""

from __future__ import annotations

from random import Random

from simrunner.faults.fault import Fault, drawn_from
from simrunner.model.operations import SEARCHED_CRASH_POINTS
from simrunner.model.tape import REUSE
from simrunner.model.workload import FaultSpec


def drawn(stream: Random) -> FaultSpec:
    """A worker that is killed at a crash point and comes back under its old name."""
    return FaultSpec(REUSE, drawn_from(stream, SEARCHED_CRASH_POINTS))


FAULT = Fault(REUSE, "SIGKILL; the actor's next process has the identity of the dead one", drawn)
