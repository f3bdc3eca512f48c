"""Verdicts and findings: what a checker returns and what `verdict.json` says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

VERDICT_SCHEMA = 1


class Verdict(StrEnum):
    """The verdict of one invariant or of a run."""

    VALID = "valid"
    VIOLATED = "violated"
    UNKNOWN = "unknown"
    NOT_EXERCISED = "not exercised"
    NOT_PROMISED = "not promised"
    NOT_OFFERED = "not offered"


EXIT_CODE = {
    Verdict.VALID: 0,
    Verdict.VIOLATED: 1,
    Verdict.UNKNOWN: 3,
    Verdict.NOT_EXERCISED: 3,
}
"""Exit code of `run`, `analyze` and `replay` for a run's verdict."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One violation of one invariant, with the events that witness it."""

    invariant: str
    seq: int
    """The event at which the invariant was first broken; of an absence, the job's last event."""
    job: int | None
    """Job ordinal."""
    witness: tuple[int, ...]
    """seqs of the events that show it, ascending, the fewest that do."""
    explanation: str
    """A sentence or two. `{job:3}`, `{token:5}`, `{key:2}` stand for names that the report fills in."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a checker returns."""

    opportunities: int
    """Occasions on which the invariant could have been violated."""
    findings: tuple[Finding, ...]
    """Ordered by seq."""
    undecided: str | None = None
    """Why the history does not decide it, beyond the findings."""


@dataclass(frozen=True, slots=True)
class InvariantVerdict:
    """One row of the verdict table."""

    name: str
    verdict: Verdict
    promised: bool
    judged: bool
    """The workload judges it: it counts for the run's verdict."""
    opportunities: int
    violations: int
    first: Finding | None
    error: str | None = None
    """Why it is unknown: the checker's own failure, what the history does not tell, or the run's interruption."""


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """The verdict of one run."""

    verdict: Verdict
    root_cause: str | None
    invariants: tuple[InvariantVerdict, ...]
    certificate: tuple[tuple[str, bool, str], ...]
    """(what a pass requires, whether the run reached it, figures), e.g. crash points hit."""
    findings: tuple[Finding, ...] = ()
    """All findings in order of seq, of each invariant at most `limits.findings_per_invariant_max`."""
