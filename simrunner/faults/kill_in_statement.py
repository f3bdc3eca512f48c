"""Kill-in-statement: SIGKILL of an actor while the server executes its statement, which has changed a row by then.

The server does not notice: it finishes the statement. In a transaction that is rolled back, because no COMMIT comes. A statement
that is a transaction of its own is committed, for nobody, unless `client_connection_check_interval` lets the server notice.
"""

from __future__ import annotations

from random import Random

from simrunner.faults.fault import Fault, drawn_from, is_numbered, parked
from simrunner.model.tape import KILL_IN_STATEMENT
from simrunner.model.workload import FaultSpec


def drawn(stream: Random) -> FaultSpec:
    """A kill of a worker in one of its statements."""
    return FaultSpec(KILL_IN_STATEMENT, at=drawn_from(stream, ("claim:1", "effect:1", "complete:1")))


FAULT = Fault(
    KILL_IN_STATEMENT,
    "SIGKILL of an actor while the server executes its statement",
    drawn,
    needs=("at",),
    can_strike=parked,
    stands_at=is_numbered,
)
