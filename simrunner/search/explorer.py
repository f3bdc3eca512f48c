"""Runs schedule after schedule on one stage and judges each in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from msgspec import structs

from simrunner.analysis.judge import judge
from simrunner.errors import StepStuck
from simrunner.history.digest import history_sha256
from simrunner.history.history import History
from simrunner.model.draws import stream_of
from simrunner.model.event import Event
from simrunner.model.operations import WORKER_CRASH_POINTS
from simrunner.model.tape import KILL, Decision, Draw
from simrunner.model.verdict import RunVerdict, Verdict
from simrunner.model.workload import FaultSpec
from simrunner.runtime.performance import Final, Request, perform
from simrunner.runtime.phases import Course
from simrunner.runtime.stage import Stage
from simrunner.search.campaign import ScheduleResult
from simrunner.store.context import context_document, context_from
from simrunner.store.final import FinalRows
from simrunner.store.journal import Names
from simrunner.strategies.exhaustive import ExhaustiveDecider


@dataclass(slots=True)
class Memory:
    """A ledger in memory: the records of one schedule."""

    events: list[Event] = field(default_factory=list)
    names: Names = field(default_factory=lambda: {"job": {}, "token": {}, "key": {}})
    decisions: list[Decision] = field(default_factory=list)
    draws: list[Draw] = field(default_factory=list)

    def append(
        self,
        events: Sequence[Event],
        names: Sequence[tuple[str, int, str]] = (),
        decisions: Sequence[Decision] = (),
        draws: Sequence[Draw] = (),
    ) -> None:
        """See recorder.Ledger."""
        self.events += events
        self.decisions += decisions
        self.draws += draws
        for kind, ordinal, text in names:
            self.names[kind][ordinal] = text


class Played(NamedTuple):
    """One schedule that was run."""

    result: ScheduleResult
    request: Request
    memory: Memory
    final: Final | None
    verdict: RunVerdict | None


def play(stage: Stage, request: Request, number: int) -> Played:
    """Run one schedule on a stage in its first state and judge it. A step that got stuck makes the schedule unknown."""
    memory = Memory()
    course = Course(lambda world: None, lambda phase, round_, rounds: None, concurrent=False)
    try:
        final = perform(request, stage, memory, lambda world: course, lambda: None)
    except StepStuck as error:
        unknown = _result(request, number, memory)
        return Played(structs.replace(unknown, error=str(error)), request, memory, None, None)
    verdict = verdict_of(request, memory, final)
    judged = structs.replace(_result(request, number, memory), verdict=verdict.verdict.value, root_cause=verdict.root_cause)
    return Played(judged, request, memory, final, verdict)


def verdict_of(request: Request, memory: Memory, final: Final) -> RunVerdict:
    """Judge a schedule in memory; what it exercised is a question to the campaign, not to it alone."""
    document = context_document(request.design, request.workload, request.mode)
    context = context_from(document, memory.names, FinalRows(final.jobs, final.audit), completed=True)
    return judge(History(memory.events, context), request.workload.judges, (), ())


def seeded(base: Request, number: int) -> Request:
    """The request of a campaign's schedule: its own seed, and faults drawn swarm-style, none in every other schedule."""
    seed = seed_of(base.seed, number)
    draws = stream_of(seed, "swarm")
    faults: tuple[FaultSpec, ...] = ()
    if draws.random() < 0.5:
        point = WORKER_CRASH_POINTS[int(draws.random() * len(WORKER_CRASH_POINTS))]
        faults = (FaultSpec("kill", point),)
    return replace(base, seed=seed, workload=replace(base.workload, faults=faults))


def seed_of(campaign_seed: int, number: int) -> int:
    """Seed of a campaign's schedule."""
    digest = hashlib.sha256(f"{campaign_seed}/schedule/{number}".encode()).digest()
    return int.from_bytes(digest[:6], "big")


def exhaustive(base: Request, kills: int, start: Sequence[int] = ()) -> Iterator[Request]:
    """Requests of an exhaustive search in depth-first order; the next one is made when the one before has been run."""
    prefix: list[int] | None = list(start)
    while prefix is not None:
        decider = ExhaustiveDecider(prefix, frozenset(WORKER_CRASH_POINTS), kills)
        yield replace(base, decider=decider, workload=replace(base.workload, faults=()))
        prefix = decider.next_prefix()


def _result(request: Request, number: int, memory: Memory) -> ScheduleResult:
    decider = request.decider
    path = tuple((point.options, point.taken) for point in decider.met) if isinstance(decider, ExhaustiveDecider) else ()
    return ScheduleResult(
        number,
        request.seed,
        Verdict.UNKNOWN.value,
        None,
        history_sha256(memory.events),
        len(memory.decisions),
        len(memory.events),
        tuple(decision.label or "" for decision in memory.decisions if decision.kind == KILL),
        path,
    )
