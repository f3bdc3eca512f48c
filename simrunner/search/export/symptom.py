"""How a violation shows in an exported case: a query that has a row exactly when the promise is broken, or a step's result."""

from __future__ import annotations

from collections.abc import Sequence

from simrunner.analysis.names import job_name, token_name
from simrunner.errors import InputError
from simrunner.history.context import Context
from simrunner.model.design import Design
from simrunner.model.event import Event
from simrunner.model.job import TERMINAL
from simrunner.model.verdict import Finding
from simrunner.search.export.clock import moment
from simrunner.search.export.literals import quoted
from simrunner.search.export.script import Step, Symptom

VIEW = "canonical_jobs"
"""The view through which the observer looks at jobs."""
ABSENCES = frozenset({"no-job-lost"})
"""Invariants that something missing at the end violates."""
_BY_ROW = frozenset(
    {
        "single-live-claim",
        "lease-honoured",
        "fenced-writes",
        "fenced-recovery",
        "legal-transition",
        "claim-order",
        "attempts-accounted",
        "starvation-freedom",
    }
)
"""Invariants whose first finding is a change of a row that a right design does not make."""


def symptom_of(finding: Finding, events: Sequence[Event], context: Context, design: Design, steps: Sequence[Step]) -> Symptom:
    """Return how a finding shows. Raises InputError for an invariant of which the rows do not tell."""
    event = events[finding.seq - 1]
    if finding.invariant in ABSENCES:
        return Symptom(_not_ended(job_name(context, finding.job) or ""))
    if finding.invariant == "effect-once" and event.kind == "effect" and design.effects is not None:
        return Symptom(_effects(job_name(context, event.job) or "", design))
    if finding.invariant in _BY_ROW and event.kind in ("transition", "renewal"):
        return Symptom(_row_as(event, context))
    if event.kind == "read":
        column = design.operations["claim"].results["job"]
        return Symptom(None, _statement_before(event, steps), column, job_name(context, event.job))
    if finding.invariant == "no-false-empty":
        return Symptom(None, _statement_before(event, steps))
    raise InputError(f"violates {finding.invariant}, which no row of a queue shows and cannot be exported: replay it instead")


def jobs_view(design: Design) -> str:
    """Return the statement that makes the view of canonical job rows."""
    jobs = design.operations["jobs"].statements[0].sent
    return f"CREATE VIEW {VIEW} AS\nSELECT job, state, owner, token, attempts, lease_until\nFROM (\n{jobs}\n) AS jobs;"


def jobs_query(where: str) -> str:
    """Return a query of the canonical rows of some jobs."""
    return f"SELECT * FROM {VIEW} WHERE {where}"


def one_job(job: str) -> str:
    """Return the condition that names a job."""
    return f"job::text = {quoted(job)}"


def _row_as(event: Event, context: Context) -> str:
    """The row as the violating change left it."""
    job = job_name(context, event.job) or ""
    if event.to_state is None:
        gone = jobs_query(one_job(job))
        return f"SELECT {quoted(f'job {job} is gone')} AS violation WHERE NOT EXISTS ({gone})"
    conditions = [one_job(job), f"state = {quoted(event.to_state)}"]
    if event.to_state == "claimed":
        token = token_name(context, event.token)
        conditions += [f"owner = {quoted(event.owner)}"] if event.owner is not None else []
        conditions += [f"token = {quoted(token)}"] if token is not None else []
    if event.kind == "renewal" and event.lease_until is not None:
        conditions.append(f"lease_until = {quoted(moment(event.lease_until))}")
    return jobs_query(" AND ".join(conditions))


def _not_ended(job: str) -> str:
    ended = ", ".join(sorted(quoted(state.value) for state in TERMINAL))
    return jobs_query(f"{one_job(job)} AND state NOT IN ({ended})")


def _effects(job: str, design: Design) -> str:
    table = design.effects
    if table is None:
        raise ValueError("a design without a table of effects has no effects")
    return (
        f"SELECT {table.job_column} AS job, count(*) AS effects\nFROM {table.table}\n"
        f"WHERE {table.job_column}::text = {quoted(job)}\nGROUP BY {table.job_column}\nHAVING count(*) > 1"
    )


def _statement_before(event: Event, steps: Sequence[Step]) -> int:
    """Number of the step that returned what an event tells: the last of its session."""
    who = f"{event.actor}.{event.incarnation}"
    return next(step.number for step in reversed(steps) if step.session == who and step.sql is not None)
