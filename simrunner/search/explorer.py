"""Runs one schedule on a stage and judges it in memory."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from time import perf_counter_ns
from typing import NamedTuple, TypeVar

from msgspec import structs

from simrunner.analysis.judge import judge
from simrunner.checkers.registry import CHECKERS
from simrunner.errors import StepStuck
from simrunner.history.digest import history_sha256
from simrunner.history.history import History
from simrunner.model.event import Event
from simrunner.model.tape import FAULTS, KILL, STEP, UNPLANNED, UNPLANNED_LOSS, Decision, Draw
from simrunner.model.verdict import RunVerdict, Verdict
from simrunner.runtime.emptying import cleans_up
from simrunner.runtime.performance import Final, Request, perform
from simrunner.runtime.phases import Course
from simrunner.runtime.stage import Stage
from simrunner.store.context import context_of
from simrunner.store.final import FinalRows
from simrunner.store.journal import Names
from simrunner.store.schedules import ScheduleResult
from simrunner.strategies.exhaustive import ExhaustiveDecider

D = TypeVar("D")


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
    """Run one schedule on a stage, which is reset first if it was used, and judge it.

    A step that got stuck, and an actor that died or lost its session by itself, make the schedule unknown; after the former the
    stage is of no use.
    Raises EnvironmentFailure.
    """
    began_ns = perf_counter_ns()
    again = replace(request, decider=deepcopy(request.decider))  # a decider is used up by a run
    memory = Memory()
    try:
        if stage.is_used:
            stage.reset(fresh=cleans_up(request.workload))
        final = perform(request, stage, memory, lambda world: _UNWATCHED, lambda: None)
        if _accident(memory) is None and not stage.is_sure():
            request, memory = again, Memory()
            stage.reset()
            final = perform(request, stage, memory, lambda world: _UNWATCHED, lambda: None)
    except StepStuck as error:
        return Played(unknown(request, number, memory, str(error), began_ns), request, memory, None, None)
    reason = _accident(memory)
    if reason is not None:
        return Played(unknown(request, number, memory, reason, began_ns), request, memory, final, None)
    verdict = verdict_of(request, memory, final)
    judged = _judged(_result(request, number, memory, began_ns), final, verdict, began_ns)
    return Played(judged, request, memory, final, verdict)


def used(played: Played, kind: type[D]) -> D:
    """The decider that a schedule was run with, as the run has left it: of one that was run again, not the one that was given.

    Raises TypeError if it is of another kind.
    """
    decider = played.request.decider
    if not isinstance(decider, kind):
        raise TypeError(f"a schedule was decided by {type(decider).__name__}, not by {kind.__name__}")
    return decider


def _accident(memory: Memory) -> str | None:
    """What has happened to an actor that nobody decided, in words; None: nothing."""
    ended = next((event for event in memory.events if event.kind == "fault" and event.value in _BY_ITSELF), None)
    return None if ended is None else f"{ended.actor} {_BY_ITSELF[ended.value or '']}, at event {ended.seq}"


_BY_ITSELF = {
    UNPLANNED: "died by itself, or was killed from outside",
    UNPLANNED_LOSS: "lost its session, which it ended itself or somebody from outside did",
}
"""What a fault that nobody decided means, by its event's value."""
_UNWATCHED = Course(lambda world: None, lambda phase, round_, rounds: None, concurrent=False)


def verdict_of(request: Request, memory: Memory, final: Final) -> RunVerdict:
    """Judge a schedule in memory. Whether a pass was reached is a question to the campaign, not to one schedule."""
    rows = FinalRows(final.jobs, final.audit)
    context = context_of(request.design, request.workload, request.mode, memory.names, rows)
    judges = request.workload.judges
    return judge(History(memory.events, context), judges, (), (), [one for one in CHECKERS if one.name in judges])


def unknown(request: Request, number: int, memory: Memory, reason: str, began_ns: int) -> ScheduleResult:
    """The result of a schedule that cannot be judged, and why."""
    return structs.replace(_result(request, number, memory, began_ns), error=reason)


def _judged(result: ScheduleResult, final: Final, verdict: RunVerdict, began_ns: int) -> ScheduleResult:
    return structs.replace(
        result,
        # that some invariant had no opportunity is a question to the campaign, not to one schedule
        verdict=(Verdict.VALID if verdict.verdict is Verdict.NOT_EXERCISED else verdict.verdict).value,
        root_cause=verdict.root_cause,
        exercised=tuple(row.name for row in verdict.invariants if row.opportunities),
        is_deterministic=final.is_deterministic,
        error=next((f"{row.name}: {row.error}" for row in verdict.invariants if row.verdict is Verdict.UNKNOWN), None),
        duration_us=_elapsed_us(began_ns),
    )


def _result(request: Request, number: int, memory: Memory, began_ns: int) -> ScheduleResult:
    decider = request.decider
    return ScheduleResult(
        schedule=number,
        seed=request.seed,
        verdict=Verdict.UNKNOWN.value,
        root_cause=None,
        sha256=history_sha256(memory.events),
        steps=sum(1 for decision in memory.decisions if decision.kind == STEP),
        events=len(memory.events),
        duration_us=_elapsed_us(began_ns),
        crash_points=tuple(one.label or "" for one in memory.decisions if one.kind == KILL and one.label != UNPLANNED),
        faults=tuple(one.kind for one in memory.decisions if one.kind in FAULTS and one.kind != KILL),
        depth=request.options.depth if request.strategy == "pct" else None,
        path=tuple(decider.met) if isinstance(decider, ExhaustiveDecider) else (),
    )


def _elapsed_us(began_ns: int) -> int:
    return (perf_counter_ns() - began_ns) // 1000
