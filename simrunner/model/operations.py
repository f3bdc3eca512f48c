"""The operations a design may offer and the contract of each: its parameters, results and crash points.

Parameters are written `:'name'` (text, times, intervals) or `:name` (numbers) in the SQL files, so that each file
also runs in psql with its `set` command. Only names listed here count as parameters; any other colon is left alone.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from enum import StrEnum


class ParameterType(StrEnum):
    """How a parameter is written and typed: TEXT as `:'name'` (an unknown-type literal), NUMBER as `:name`."""

    TEXT = "text"
    NUMBER = "number"


T, N = ParameterType.TEXT, ParameterType.NUMBER

PARAMETERS: dict[str, ParameterType] = {
    # who acts
    "worker_id": T,  # worker and incarnation, e.g. worker-a.2
    "token": T,  # unique to the attempt: worker, incarnation and claim ordinal, e.g. worker-a.2/7
    "client_now": T,  # timestamptz: what the client's own clock says when it sends the statement
    # which job
    "job_id": T,
    "attempt": N,
    "key": T,
    # the policy of the run
    "batch": N,
    "lease_ms": N,
    "retry_delay_ms": N,
    "max_attempts": N,
    "error": T,
    # producers and the fixture
    "first_job": N,
    "jobs": N,
    "priority": N,
    "payload": T,
    # the observer
    "as_of": T,  # timestamptz: the txn_time of the claim that the candidates are listed for
}
"""Every parameter of every operation. Which operation takes which stands in OPERATIONS."""

_WHO = ("worker_id", "token", "job_id", "attempt", "client_now")


@dataclass(frozen=True, slots=True)
class Operation:
    """The contract of one SQL file of a design."""

    name: str
    takes: tuple[str, ...] = ()
    """Parameters that the file may use."""
    returns: tuple[str, ...] = ()
    """Canonical result fields that design.toml's [results.<operation>] maps to columns of the last statement."""
    fixture: bool = False
    """Run once to build the fixture, by nobody."""
    observer: bool = False
    """Run by the observer, never by an actor; must not lock or write."""
    crash_points: tuple[str, ...] = field(default=())


_CLAIM_RESULT = ("job", "token", "attempt", "lease_until")

OPERATIONS: dict[str, Operation] = {
    operation.name: operation
    for operation in (
        Operation("schema", fixture=True),
        Operation("schema-changes", fixture=True),
        Operation("seed", ("jobs", "max_attempts"), fixture=True),
        Operation("backlog", ("first_job", "jobs", "priority", "max_attempts"), fixture=True),
        Operation(
            "enqueue",
            ("job_id", "key", "priority", "payload", "max_attempts", "client_now"),
            ("job",),
            crash_points=("before-enqueue", "after-enqueue-before-commit", "after-enqueue"),
        ),
        Operation(
            "claim",
            ("worker_id", "token", "batch", "lease_ms", "job_id", "attempt", "client_now"),
            _CLAIM_RESULT,
            crash_points=("before-claim", "after-claim-before-commit", "after-commit"),
        ),
        Operation(
            "complete",
            _WHO,
            ("job",),
            crash_points=("after-effect-before-complete", "after-complete-before-commit", "after-complete"),
        ),
        Operation("fail", (*_WHO, "error", "retry_delay_ms"), ("job",)),
        Operation("release", (*_WHO, "retry_delay_ms"), ("job",)),
        Operation("heartbeat", (*_WHO, "lease_ms"), ("job", "lease_until")),
        Operation(
            "recover",
            ("worker_id", "batch", "lease_ms", "client_now"),
            ("job", "attempt"),
            crash_points=("before-recover", "after-recover-before-commit", "after-recover"),
        ),
        Operation("recover-batch", ("worker_id", "batch", "lease_ms", "client_now"), ("job", "attempt")),
        Operation("recover-read", ("worker_id", "batch", "lease_ms", "client_now"), ("job", "token", "attempt")),
        Operation("recover-write", ("worker_id", "job_id", "attempt", "token", "lease_ms", "client_now"), ("job", "attempt")),
        Operation("effect", (*_WHO, "key"), ("job",)),
        Operation("reprioritize", ("job_id", "priority"), ("job",)),
        Operation("amend", ("job_id", "payload"), ("job",)),
        Operation("report", (), ("state", "count")),
        Operation("jobs", (), (), observer=True),
        Operation("eligible", ("as_of",), ("job",), observer=True),
        Operation("audit", (), (), observer=True),
    )
}
"""Literal registry of operations. A file name in a design's folder is one of these plus `.sql`."""


SCHEMAS = ("schema", "schema-changes")
"""What makes a design's tables, in this order. The second holds what a design adds to those of the one that it extends."""


def is_offered(operation: str, offers: Container[str]) -> bool:
    """Whether a design that has these operations does another; a recovery may also be a read and its writes."""
    return operation in offers or (operation == "recover" and "recover-read" in offers)


FENCED_WRITES = ("complete", "fail", "release", "heartbeat")
"""Operations of an owner that must be refused once its ownership was ended by another."""

WORKER_OPERATIONS = ("claim", "effect", *FENCED_WRITES)
"""Operations of a worker: each may run on another connection than its first."""

WORKER_CRASH_POINTS = (
    "before-claim",
    "after-claim-before-commit",
    "after-commit",
    "during-work",
    "after-effect-before-complete",
    "after-complete-before-commit",
    "after-complete",
)
"""Where a worker can be killed, in the order in which one job passes them."""

SEARCHED_CRASH_POINTS = tuple(point for point in WORKER_CRASH_POINTS if point != "during-work")
"""Where a worker stands in a campaign: in coalesced steps nobody stands during work, it is the crash point before."""

CRASH_POINTS = (
    *WORKER_CRASH_POINTS,
    "before-recover",
    "after-recover-before-commit",
    "after-recover",
    "before-enqueue",
    "after-enqueue-before-commit",
    "after-enqueue",
)
