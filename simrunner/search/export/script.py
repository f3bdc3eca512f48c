"""A run as a script: who says what to the server, in which order. The neutral form behind every export."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

OBSERVER = "observer"
"""The session that looks at committed rows."""


@dataclass(slots=True)
class Step:
    """One thing that one session does."""

    number: int
    """From 1, in order."""
    session: str
    """Actor and incarnation, e.g. `worker-a.1`; or the observer."""
    title: str
    """What it is, e.g. `claim`, `complete`, `COMMIT`, `KILLED`, `look`."""
    sql: str | None
    """One statement without its semicolon; values are literals, but for those of `fed`. None: the session's process is killed."""
    fed: Mapping[str, str] = field(default_factory=dict)
    """Parameters that the statement takes from the row before, as written (`:'job_id'`) -> the literal that it was in the run."""
    begins_at: str | None = None
    """A transaction begins with this statement, at this virtual time (a timestamptz literal)."""
    said_at: str | None = None
    """Virtual time of the statement itself, where the design asks for it."""
    in_transaction: bool = False
    """A kill: of a session whose transaction is rolled back by it."""
    blocked_by: str | None = None
    """It waits for a lock of these actors; what it returns comes when a later step frees it."""
    notes: list[str] = field(default_factory=list)
    """What it did to the queue, one line each."""


@dataclass(frozen=True, slots=True)
class Symptom:
    """How the violation shows. Either rows of a query that no design that keeps the promise returns, or a step's own result."""

    sql: str | None
    """Asked by the observer at the end: a row means that the promise is broken."""
    step: int | None = None
    """Number of the step whose result shows it."""
    column: str | None = None
    value: str | None = None
    """The step returns a row with this value in this column; without a column: it returns no row at all."""


@dataclass(frozen=True, slots=True)
class Script:
    """All that an export needs."""

    title: str
    invariant: str
    promise: str
    """What the invariant says, in words."""
    explanation: str
    """The sentence that explains the violation."""
    facts: tuple[tuple[str, str], ...]
    """(name, value) about where it comes from: design, workload, seed, server."""
    isolation: str
    setup: tuple[tuple[str, str], ...]
    """(what it is, SQL statements with semicolons): clock, schema, fixture."""
    sessions: tuple[str, ...]
    """In order of appearance, without the observer."""
    steps: tuple[Step, ...]
    symptom: Symptom
