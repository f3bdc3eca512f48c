"""Error-at, lock-timeout and statement-timeout: one statement of an actor fails, and the actor lives on.

The server raises all of them for real. Of the transaction nothing is left; a failed heartbeat is no lost lease.
"""

from __future__ import annotations

from functools import partial
from random import Random

from simrunner.faults.fault import Fault, drawn_from, is_numbered, parked
from simrunner.model.tape import ERROR_AT, LOCK_TIMEOUT, STATEMENT_TIMEOUT
from simrunner.model.workload import FaultSpec

_STATEMENTS = ("claim:1", "heartbeat:1", "effect:1", "complete:1")
_ABOUT_A_JOB = _STATEMENTS[1:]
_ERRORS = ("40001", "40P01", "53300", "XX000")
"""Serialization failure, deadlock, too many connections, internal error: https://www.postgresql.org/docs/18/errcodes-appendix.html"""


def drawn_error(stream: Random) -> FaultSpec:
    """An error in place of a statement of a worker."""
    return FaultSpec(ERROR_AT, at=drawn_from(stream, _STATEMENTS), sqlstate=drawn_from(stream, _ERRORS))


def drawn_timeout(kind: str, statements: tuple[str, ...], stream: Random) -> FaultSpec:
    """A time-out of a statement of a worker."""
    return FaultSpec(kind, at=drawn_from(stream, statements))


ERROR = Fault(
    ERROR_AT,
    "the server raises an error in place of an actor's statement",
    drawn_error,
    needs=("at", "sqlstate"),
    can_strike=parked,
    stands_at=is_numbered,
    detail=lambda spec: spec.sqlstate,
)
LOCK = Fault(
    LOCK_TIMEOUT,
    "somebody locks the job's row, and an actor's statement gives up waiting (55P03)",
    partial(drawn_timeout, LOCK_TIMEOUT, _ABOUT_A_JOB),
    needs=("at",),
    can_strike=parked,
    stands_at=is_numbered,
)
STATEMENT = Fault(
    STATEMENT_TIMEOUT,
    "an actor's statement takes longer than statement_timeout allows (57014)",
    partial(drawn_timeout, STATEMENT_TIMEOUT, _STATEMENTS),
    needs=("at",),
    can_strike=parked,
    stands_at=is_numbered,
)
