"""Drives a campaign: which schedules are still to be run, within which budget, and what is kept of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from time import monotonic

from simrunner.errors import Divergence
from simrunner.model.verdict import Verdict
from simrunner.runtime import database
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.performance import Request
from simrunner.runtime.stage import Stage
from simrunner.search import explorer
from simrunner.search.campaign import Ledger, ScheduleResult
from simrunner.search.explorer import Played
from simrunner.search.play import begin_part
from simrunner.store.final import write_final
from simrunner.store.folder import COMPLETE
from simrunner.store.journal import JOURNAL, Journal

FINDINGS = "findings"
"""Folder of the run folders of findings: the first schedule of each root cause in each part."""
SPARES = 1
"""Processes forked ahead, for the one that a schedule kills."""


@dataclass(frozen=True, slots=True)
class Budget:
    """When a campaign ends. None: no such bound."""

    schedules: int
    seconds: float | None = None
    steps: int | None = None
    stop_at_first: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """One coordinator's share of a campaign: the schedules whose number is `number` modulo `jobs`."""

    number: int
    jobs: int
    recheck: bool
    """Run every schedule twice and stop at the first difference."""
    kills: int = 1
    """Exhaustive: at most so many kills in one schedule."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a campaign does."""

    base: Request
    """Design, workload, campaign seed and strategy; each schedule has a seed of its own."""
    folder: Path
    started: datetime
    budget: Budget


def explore(
    plan: Plan, cluster: Cluster, part: Part, done: Sequence[ScheduleResult], told: Callable[[ScheduleResult], None]
) -> None:
    """Run this part's schedules that are not done. Raises Divergence when a recheck differs."""
    base, budget = plan.base, plan.budget
    causes = {result.root_cause for result in done if result.root_cause is not None}
    deadline = None if budget.seconds is None else monotonic() + budget.seconds
    steps_left = budget.steps
    with database.create(cluster, f"explore-{part.number}") as own:
        stage = Stage(own, base.design, base.workload, keep=True, coalesce=base.coalesce)
        with closing(stage), closing(Ledger(plan.folder, part.number)) as ledger:
            for number, request in _requests(base, part, budget, done):
                played = _play(stage, request, number, part)
                ledger.append(played.result, played.memory.events)
                told(played.result)
                if played.result.root_cause is not None and played.result.root_cause not in causes:
                    causes.add(played.result.root_cause)
                    keep_finding(played, cluster, plan)
                steps_left = None if steps_left is None else steps_left - played.result.steps
                if _is_over(played, budget, deadline, steps_left):
                    break


def measure(base: Request, cluster: Cluster) -> int:
    """Run one schedule round-robin and return its number of decisions: the k of PCT and of the delay bound."""
    with database.create(cluster, "measure") as own:
        stage = Stage(own, base.design, base.workload, keep=True, coalesce=base.coalesce)
        with closing(stage):
            return explorer.play(stage, replace(base, strategy="round-robin"), 0).result.steps


def keep_finding(played: Played, cluster: Cluster, plan: Plan) -> None:
    """Write a schedule as a run folder of its own, so that it can be analyzed, replayed and shrunk."""
    place = plan.folder / FINDINGS / f"{played.result.root_cause}-{played.result.schedule}"
    memory, final = played.memory, played.final
    with closing(begin_part(played.request, cluster, place, plan.started)) as run:
        with closing(Journal(run.path / JOURNAL)) as journal:
            names = [(kind, ordinal, text) for kind, texts in memory.names.items() for ordinal, text in texts.items()]
            journal.append(memory.events, names, memory.decisions, memory.draws)
        if final is not None:
            write_final(run, final.jobs, final.audit)
        run.update_run(status=COMPLETE, deterministic=True)


def _requests(base: Request, part: Part, budget: Budget, done: Sequence[ScheduleResult]) -> Iterator[tuple[int, Request]]:
    if base.strategy == "exhaustive":
        start = _next_path(done)
        if start is not None:
            yield from zip(range(len(done), budget.schedules), explorer.exhaustive(base, part.kills, start), strict=False)
        return
    finished = {result.schedule for result in done}
    for number in range(part.number, budget.schedules, part.jobs):
        if number not in finished:
            yield number, explorer.seeded(base, number)


def _next_path(done: Sequence[ScheduleResult]) -> list[int] | None:
    """The prefix with which an exhaustive search goes on behind its last finished schedule; None: it was finished."""
    if not done:
        return []
    path = list(done[-1].path)
    while path and path[-1][1] + 1 == path[-1][0]:
        path.pop()
    return [taken for _, taken in path[:-1]] + [path[-1][1] + 1] if path else None


def _play(stage: Stage, request: Request, number: int, part: Part) -> Played:
    played = _once(stage, request, number)
    if part.recheck:
        again = _once(stage, request, number)
        if again.result.sha256 != played.result.sha256:
            raise Divergence(_difference(played, again))
    return played


def _once(stage: Stage, request: Request, number: int) -> Played:
    if stage.is_used:
        stage.reset()
    stage.stock(SPARES)
    return explorer.play(stage, request, number)


def _difference(one: Played, other: Played) -> str:
    pairs = zip(one.memory.events, other.memory.events, strict=False)
    place = next((old.seq for old, new in pairs if old[:-6] != new[:-6]), min(len(one.memory.events), len(other.memory.events)))
    return (
        f"schedule {one.result.schedule} (seed {one.result.seed}) gave two histories when it was run twice; first at event {place}."
        " Something that is not fixed by design, workload and seed decides there"
    )


def _is_over(played: Played, budget: Budget, deadline: float | None, steps_left: int | None) -> bool:
    found = budget.stop_at_first and played.result.verdict == Verdict.VIOLATED.value
    late = deadline is not None and monotonic() > deadline
    return found or late or (steps_left is not None and steps_left <= 0)
