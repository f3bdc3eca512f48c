"""From a run folder to the script of its root cause."""

from __future__ import annotations

from collections.abc import Sequence

from simrunner import __version__
from simrunner.analysis.names import fill_names, job_name
from simrunner.analysis.pipeline import Analysis, analyse
from simrunner.checkers.registry import CHECKERS
from simrunner.errors import InputError, RunFolderError
from simrunner.model.design import Design
from simrunner.model.event import Event
from simrunner.model.operations import SCHEMAS
from simrunner.model.verdict import Finding
from simrunner.model.workload import Workload
from simrunner.runtime.performance import Request
from simrunner.runtime.setup import VIRTUAL_START_US
from simrunner.search.export import clock
from simrunner.search.export.literals import filled
from simrunner.search.export.script import OBSERVER, Script, Step
from simrunner.search.export.steps import Steps, kept
from simrunner.search.export.symptom import ABSENCES, jobs_query, jobs_view, one_job, symptom_of
from simrunner.search.replay import read
from simrunner.search.shrinking.failure import finding_of
from simrunner.store.folder import COMPLETE, RunFolder

STEPS_MAX = 400
"""A script with more steps is nothing that a person reads."""


def script_of(folder: RunFolder) -> Script:
    """Return the script of a run's root cause. Reads only.

    Raises RunFolderError and TapeError for a run that cannot be exported, InputError for a case that cannot be.
    """
    if folder.status() != COMPLETE:
        raise RunFolderError(f"is {folder.status()}: only a run that reached its end can be exported", place=folder.path)
    _, request = read(folder)
    if request.design.connections:
        raise InputError("has workers with several connections, which cannot be exported: replay it instead", place=folder.path)
    if request.workload.script:
        raise InputError("is a scripted run, whose workload already says every step; it cannot be exported", place=folder.path)
    analysis = analyse(folder)
    finding = finding_of(analysis.verdict)
    if finding is None:
        raise InputError(f"is {analysis.verdict.verdict}: there is no violation to export", place=folder.path)
    try:
        return _script(request, analysis, finding)
    except InputError as error:
        raise error if error.place is not None else InputError(str(error), place=folder.path) from error


def _script(request: Request, analysis: Analysis, finding: Finding) -> Script:
    events, context, design = analysis.history.events, analysis.history.context, request.design
    last_seq = _last_seq(events, finding)
    builder = Steps(design, request.workload, events, context)
    looks = _looks(finding, events)
    needed = frozenset() if finding.invariant in ABSENCES else frozenset(finding.witness)
    for event in kept(events, last_seq, needed):
        builder.take(event)
        if event.seq in looks:
            job = job_name(context, event.job) or ""
            builder.steps.append(Step(len(builder.steps) + 1, OBSERVER, "look", jobs_query(one_job(job))))
    if len(builder.steps) > STEPS_MAX:
        raise InputError(f"has {len(builder.steps)} steps up to the violation; shrink the run first", place=analysis.path)
    return Script(
        title=f"{design.name} under {request.workload.name}: {finding.invariant} is violated",
        invariant=finding.invariant,
        promise=next(checker.title for checker in CHECKERS if checker.name == finding.invariant),
        explanation=fill_names(finding.explanation, context),
        facts=_facts(request, analysis),
        isolation=design.isolation,
        setup=_setup(design, request.workload),
        sessions=tuple(dict.fromkeys(step.session for step in builder.steps if step.session != OBSERVER)),
        steps=tuple(builder.steps),
        symptom=symptom_of(finding, events, context, design, builder.steps),
    )


def _last_seq(events: Sequence[Event], finding: Finding) -> int:
    """The last event that matters: of an absence, the last statement of the last round."""
    if finding.invariant in ABSENCES:
        return max(event.seq for event in events if event.round is not None)
    return max(finding.seq, *finding.witness)


def _looks(finding: Finding, events: Sequence[Event]) -> frozenset[int]:
    """The changes of rows that witness the finding: after each of them the observer looks. For membership tests only."""
    return frozenset(seq for seq in finding.witness if events[seq - 1].kind in ("transition", "renewal"))


def _setup(design: Design, workload: Workload) -> tuple[tuple[str, str], ...]:
    fixture = workload.fixture
    seed = {"jobs": fixture.jobs, "max_attempts": workload.max_attempts}
    backlog = {**seed, "first_job": fixture.jobs + 1, "jobs": fixture.backlog, "priority": fixture.backlog_priority}
    parts = [
        ("the clock of the case", clock.SETUP),
        *((f"{design.name}: {name}", _joined(design, name, {})) for name in SCHEMAS if design.offers(name)),
        (
            f"{design.name}: fixture",
            f"{clock.set_transaction_time(clock.moment(VIRTUAL_START_US))};\n" + _joined(design, "seed", seed),
        ),
    ]
    if fixture.backlog:
        parts.append((f"{design.name}: backlog", _joined(design, "backlog", backlog)))
    return (*parts, ("what the observer looks at", jobs_view(design)))


def _joined(design: Design, operation: str, values: dict[str, int]) -> str:
    statements = design.operations[operation].statements
    return "\n".join(f"{filled(statement, operation, values)};" for statement in statements)


def _facts(request: Request, analysis: Analysis) -> tuple[tuple[str, str], ...]:
    return (
        ("design", f"{request.design.name}: {request.design.title}"),
        ("workload", request.workload.name),
        ("observed on", f"PostgreSQL {analysis.facts.postgres.number}"),
        ("made by", f"simrunner {__version__}"),
    )
