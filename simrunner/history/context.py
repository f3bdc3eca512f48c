"""What a checker knows besides the events: the design's promises and the workload's bounds, as the run folder keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from simrunner.model.design import Ownership, Policies, Promises
from simrunner.model.job import JobRow
from simrunner.model.workload import ScriptStep


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One row of the design's own audit trail, as `audit.sql` gives it, in its order."""

    job: int
    """Job ordinal."""
    attempt: int | None
    token: int | None
    from_state: str | None
    to_state: str | None


@dataclass(frozen=True, slots=True)
class Context:
    """The constant part of a run."""

    ownership: Ownership
    promises: Promises
    policies: Policies
    transitions: frozenset[tuple[str | None, str | None]]
    offers: frozenset[str]
    """Names of offered operations. For membership tests only."""
    mode: str
    """stepped or rounds."""
    cohort: str
    lease_ms: int
    batch: int
    max_attempts: int
    starvation_claims: int
    completed: bool
    """The run reached its end; otherwise absences cannot be judged."""
    final_jobs: tuple[tuple[int, JobRow], ...] | None
    """(job ordinal, canonical row) read from the database at the end; None if the run was interrupted."""
    audit: tuple[AuditRow, ...] | None
    """None: the design offers no audit trail, or the run was interrupted."""
    job_names: Mapping[int, str]
    token_names: Mapping[int, str]
    script: tuple[ScriptStep, ...] = ()
    """The steps of a scripted run with what each is expected to show; empty: rounds were played."""
