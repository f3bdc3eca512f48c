"""What a pass certifies, computed from the history: a verdict over steps that never happened is worth nothing."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence

from simrunner.history.history import History
from simrunner.model.event import OBSERVER, Event
from simrunner.model.workload import FaultSpec

Line = tuple[str, bool, str]


def certify(history: History, *, workers: int, faults: Sequence[FaultSpec], min_backlog: int) -> tuple[Line, ...]:
    """Return (what a pass requires, whether the run reached it, figures) for each requirement of a workload.

    `workers` is the number of declared workers, `faults` the declared faults, `min_backlog` the number of eligible
    candidates that every claim of the safety phase must have had before it (0: nothing is required).
    """
    lines = [_workers(history, workers), *_faults(history, faults)]
    if min_backlog > 0:
        lines.append(_backlog(history, min_backlog))
    return tuple(lines)


def _workers(history: History, workers: int) -> Line:
    claims = {event.actor: 0 for event in history.of_kind("process-start") if event.value == "worker"}
    for attempt in history.attempts:
        if attempt.sent.actor in claims and attempt.committed:
            claims[attempt.sent.actor] += 1
    active = [count for count in claims.values() if count]
    figures = f"{len(active)} of {workers} workers committed a claim; the least active {min(active, default=0)} times"
    return "every worker took steps", len(active) >= workers, figures


def _faults(history: History, faults: Sequence[FaultSpec]) -> Iterator[Line]:
    """One line for each declared (kind, crash point, actor), in declared order."""
    declared: dict[tuple[str, str | None, str | None], int] = {}
    for fault in faults:
        place = fault.kind, fault.crash_point, fault.actor
        declared[place] = declared.get(place, 0) + fault.times
    for (kind, crash_point, actor), times in declared.items():
        struck = sum(1 for event in history.of_kind("fault") if _is_of(event, kind, crash_point, actor))
        where = "" if crash_point is None else f" at {crash_point}"
        whom = "" if actor is None else f" of {actor}"
        yield f"fault {kind}{whom}{where} struck", struck >= times, f"{struck} of {times} times"


def _is_of(event: Event, kind: str, crash_point: str | None, actor: str | None) -> bool:
    stood = event.actor == OBSERVER or actor in (None, event.actor)  # a fault of nobody's only waits for where an actor stands
    return event.value == kind and crash_point in (None, event.crash_point) and stood


def _backlog(history: History, min_backlog: int) -> Line:
    depths = list(eligible_depths(history))
    least = min(depths, default=0)
    figures = f"{len(depths)} claims; the fewest eligible jobs before one were {least}"
    return (
        f"every claim of the safety phase had at least {min_backlog} eligible jobs",
        bool(depths) and least >= min_backlog,
        figures,
    )


def eligible_depths(history: History) -> Iterator[int]:
    """Yield, for each claim of the safety phase, how many committed ready jobs were available when it was sent."""
    available: list[int] = []
    since: dict[int, int] = {}
    claims = {attempt.sent.seq for attempt in history.attempts if attempt.sent.phase == "safety"}
    for event in history.events:
        if event.kind in ("seed", "transition", "renewal") and event.job is not None:
            _move(event, event.job, available, since)
        elif event.seq in claims:
            yield bisect_right(available, event.txn_time or 0)


def _move(event: Event, job: int, available: list[int], since: dict[int, int]) -> None:
    """Keep the sorted times from which the ready jobs are available."""
    if job in since:
        del available[bisect_left(available, since.pop(job))]
    if event.to_state == "ready":
        since[job] = event.available_at or 0
        insort(available, since[job])
