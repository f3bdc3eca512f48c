"""Terminate-backend: the server ends a session of an actor that lives. Its transaction is rolled back, its locks are gone.

Of a worker with several connections it ends the first, or the one that is named; then nothing tells the worker until it uses
that one again.

The worker notices at its next statement and opens another session. A claim that was under way is unknown to it; a write for a
claim that it knows of is sent again. Whoever rests a claim on a lock of the session has lost it without being told.
"""

from __future__ import annotations

from random import Random

from simrunner.faults.fault import CONNECTION, Fault, drawn_from
from simrunner.model.operations import SEARCHED_CRASH_POINTS
from simrunner.model.tape import TERMINATE_BACKEND
from simrunner.model.workload import FaultSpec


def drawn(stream: Random) -> FaultSpec:
    """The end of a worker's session at a crash point."""
    return FaultSpec(TERMINATE_BACKEND, drawn_from(stream, SEARCHED_CRASH_POINTS))


FAULT = Fault(
    TERMINATE_BACKEND,
    "the server ends a session of an actor; its process lives and opens another",
    drawn,
    takes=(CONNECTION,),
    detail=lambda spec: spec.connection,
)
