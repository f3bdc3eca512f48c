"""Idle-timeout: an actor is stopped inside a transaction for so long that the server ends its session, and then goes on.

`idle_in_transaction_session_timeout` frees what the stopped process has locked
(https://www.postgresql.org/docs/18/runtime-config-client.html#GUC-IDLE-IN-TRANSACTION-SESSION-TIMEOUT). The session sets it to a
millisecond just before it is stopped, so that the server ends it for real and at once. The actor notices at its COMMIT.
"""

from __future__ import annotations

from random import Random

from simrunner.faults.fault import Fault, drawn_from, parked
from simrunner.model.tape import IDLE_TIMEOUT
from simrunner.model.workload import FaultSpec

_LONGEST_ROUNDS = 6
_POINTS = ("after-claim-before-commit", "after-complete-before-commit")


def at_commit(step: str) -> bool:
    """Whether a step ends a transaction: before it, one is surely open."""
    return step.endswith(":COMMIT")


def drawn(stream: Random) -> FaultSpec:
    """A worker that is stopped before a COMMIT."""
    return FaultSpec(IDLE_TIMEOUT, drawn_from(stream, _POINTS), rounds=1 + int(stream.random() * _LONGEST_ROUNDS))


FAULT = Fault(
    IDLE_TIMEOUT,
    "SIGSTOP before a COMMIT until the server has ended the idle session; later SIGCONT",
    drawn,
    needs=("rounds",),
    can_strike=parked,
    stands_at=at_commit,
    amount=lambda spec: spec.rounds,
)
