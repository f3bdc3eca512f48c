"""The parts of hand-written histories: a job's row as the reference design keeps it, an open transaction, the usual context."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

from simrunner.history.context import Context
from simrunner.model.design import OrderColumn, Ownership, Policies, Promises
from simrunner.model.job import JobRow, JobState

START_US = 1_790_056_800_000_000
"""2026-09-22 09:00:00+03: when the jobs of the fixture become available and the virtual clock starts."""
CREATED_US = START_US - 3_600_000_000
MS = 1_000
"""Microseconds in a millisecond."""


@dataclass(frozen=True, slots=True)
class HandRow:
    """One committed job row of a hand-written history; jobs and tokens are ordinals, times microseconds."""

    job: int
    cohort: str | None
    key: int | None
    priority: int
    available_at: int
    created_at: int
    state: str = JobState.READY
    generation: int = 0
    attempt: int = 0
    owner: str | None = None
    token: int | None = None
    claimed_at: int | None = None
    lease_until: int | None = None
    completed_at: int | None = None
    group: str | None = None

    @property
    def order(self) -> tuple[int, int, int, int]:
        """The claim order of the reference design: the smaller is claimed first."""
        return (-self.priority, self.available_at, self.created_at, self.job)

    @property
    def held(self) -> int:
        """The ownership columns that are set, as the event column `held`."""
        return int(self.canonical({}).held)

    def canonical(self, token_names: dict[int, str]) -> JobRow:
        """Return the row as `jobs.sql` gives it."""
        token = None if self.token is None else token_names.get(self.token, str(self.token))
        key = None if self.key is None else str(self.key)
        times = (self.available_at, self.claimed_at, self.lease_until, self.completed_at)
        state = JobState(self.state)
        return JobRow(str(self.job), key, self.group, state, self.owner, token, self.attempt, None, *times, self.order)

    def columns(self) -> dict[str, Any]:
        """Return the job columns of an event that tells this row."""
        return {
            "job": self.job,
            "cohort": self.cohort,
            "generation": self.generation,
            "attempt": self.attempt,
            "token": self.token,
            "key": self.key,
            "group": self.group,
            "to_state": str(self.state),
            "owner": self.owner,
            "held": self.held,
            "lease_until": self.lease_until,
            "available_at": self.available_at,
            "order_key": json.dumps(self.order, separators=(",", ":")) if self.state == JobState.READY else None,
        }


ROW_FIELDS = tuple(column.name for column in fields(HandRow))
Edit = Callable[[HandRow], HandRow | None]
"""What a transaction does to a row; None deletes it."""


@dataclass(slots=True)
class HandTxn:
    """A transaction that is open in a hand-written history."""

    columns: dict[str, Any]
    """actor, incarnation, session, txn, operation and txn_time: what its events have in common."""
    pending: list[Callable[[], object]] = field(default_factory=list)
    """What becomes visible when it commits, in order."""
    commit_is_durable: bool | None = None
    """A COMMIT without answer is under way: whether it takes effect. None: no COMMIT was sent."""

    @property
    def time(self) -> int:
        """What now() tells it, in microseconds."""
        time: int = self.columns["txn_time"]
        return time


def split(columns: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split overrides into those of the row and those of the event alone."""
    row = {name: value for name, value in columns.items() if name in ROW_FIELDS}
    return row, {name: value for name, value in columns.items() if name not in ROW_FIELDS}


def unowned(row: HandRow, state: str, available_at: int) -> HandRow:
    """Return the row as a recovery or a release leaves it."""
    cleared = replace(row, owner=None, token=None, claimed_at=None, lease_until=None)
    return replace(cleared, state=state, available_at=available_at)


REFERENCE_TRANSITIONS = frozenset(
    {(None, "ready"), ("ready", "claimed"), ("claimed", "done"), ("claimed", "ready"), ("claimed", "failed")}
)
REFERENCE_ORDER = (
    OrderColumn("priority", True),
    OrderColumn("available_at", False),
    OrderColumn("created_at", False),
    OrderColumn("id", False),
)
OFFERS = ("schema", "seed", "enqueue", "claim", "complete", "fail", "release", "heartbeat", "recover", "effect", "report")


def reference_context(**overrides: Any) -> Context:
    """Return the context of a stepped, completed run of a design like the reference, with some fields overridden."""
    lease_ms = overrides.get("lease_ms", 30_000)
    usual: dict[str, Any] = {
        "ownership": Ownership.LEASE,
        "promises": Promises(frozenset(), order=REFERENCE_ORDER, max_attempts=5, lease_ms=lease_ms, starvation_claims=10),
        "policies": Policies(),
        "transitions": REFERENCE_TRANSITIONS,
        "offers": frozenset(OFFERS),
        "mode": "stepped",
        "cohort": "seed",
        "lease_ms": lease_ms,
        "batch": 1,
        "max_attempts": 5,
        "starvation_claims": 10,
        "completed": True,
        "final_jobs": None,
        "audit": None,
        "job_names": {},
        "token_names": {},
    }
    return Context(**(usual | overrides))
