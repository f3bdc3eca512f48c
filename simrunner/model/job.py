"""A job's states and its canonical row, as `jobs.sql` of a design gives it."""

from __future__ import annotations

from enum import IntFlag, StrEnum
from typing import NamedTuple


class JobState(StrEnum):
    """The five states into which every design's own states are mapped."""

    READY = "ready"
    CLAIMED = "claimed"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


TERMINAL = frozenset({JobState.DONE, JobState.FAILED, JobState.CANCELLED})
"""States from which a job does not come back on its own. Only for membership tests, never iterated."""


class Held(IntFlag):
    """Which ownership columns of a job row are not null. Stored as an integer in the event column `held`."""

    OWNER = 1
    TOKEN = 2
    CLAIMED_AT = 4
    LEASE = 8
    COMPLETED_AT = 16


_HELD = tuple(int(flag) for flag in Held)


class JobRow(NamedTuple):
    """One canonical job row. Times are microseconds since 1970-01-01 UTC."""

    job: str
    """The design's own job id as text."""
    key: str | None
    """Idempotency or unique key, where the design has one."""
    group: str | None
    state: JobState
    owner: str | None
    token: str | None
    attempts: int | None
    max_attempts: int | None
    available_at: int | None
    claimed_at: int | None
    lease_until: int | None
    completed_at: int | None
    order_key: tuple[int | str, ...] | None
    """The declared order's columns, descending ones negated: the smaller tuple is claimed first. None without a total order."""

    @property
    def held(self) -> Held:
        """The ownership columns that are set."""
        values = (self.owner, self.token, self.claimed_at, self.lease_until, self.completed_at)
        return Held(sum(flag for flag, value in zip(_HELD, values, strict=True) if value is not None))
