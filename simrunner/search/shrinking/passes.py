"""The ways in which a case becomes smaller. Each takes the best case so far and returns one that still fails.

A pass calls `holds` with a candidate; it says whether that is smaller and fails in the same way. Passes are deterministic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from simrunner.model.workload import Workload
from simrunner.runtime.actors import lanes_of
from simrunner.search.shrinking.case import Case, Size, fitted_to, with_deviations
from simrunner.strategies.deviating import HOLD, Deviation

Holds = Callable[[Case], bool]
Pass = Callable[[Case, Workload, Holds], Case]
"""(best case, the workload in its full size, holds) -> a case that holds, the best one if nothing smaller does."""


def leap(case: Case, workload: Workload, holds: Holds) -> Case:
    """Try two workers and one or two jobs, with few deviations before all: they run in a moment, and mostly one of them fails."""
    if workload.script:
        return case
    for thin in _thinned(case):
        for size in _small_sizes(case.size):
            candidate = fitted_to(thin, size, workload)
            if holds(candidate):
                return candidate
    return case


def drop_deviations(case: Case, workload: Workload, holds: Holds) -> Case:
    """Delete chunks of deviations that are no faults, halves first and single ones last (ddmin: Zeller, Hildebrandt, 2002)."""
    chunk = len(case.orders)
    while chunk:
        place = 0
        while place < len(case.orders):
            candidate = _without(case, case.orders[place : place + chunk])
            if holds(candidate):
                case = candidate
            else:
                place += chunk
        chunk = min(chunk // 2, len(case.orders))
    return case


def hold_instead(case: Case, workload: Workload, holds: Holds) -> Case:
    """Put one actor off instead of letting others go out of turn again and again."""
    orders = case.orders
    if len(orders) < 2:
        return case
    for put_off in _holds_for(orders, case, workload):
        candidate = with_deviations(case, (*case.faults, put_off))
        if holds(candidate):
            return candidate
    for run in _runs(orders):
        rest = [deviation for deviation in case.deviations if deviation not in run]
        for put_off in _holds_for(run, case, workload):
            candidate = with_deviations(case, (*rest, put_off))
            if holds(candidate):
                return candidate
    return case


def drop_faults(case: Case, workload: Workload, holds: Holds) -> Case:
    """Delete single faults."""
    for fault in case.faults:
        candidate = _without(case, [fault])
        if holds(candidate):
            case = candidate
    return case


def fewer_workers(case: Case, workload: Workload, holds: Holds) -> Case:
    """Take workers away."""
    return _lower(case, workload, holds, "workers", 1)


def fewer_jobs(case: Case, workload: Workload, holds: Holds) -> Case:
    """Take jobs away: those of producers, of the backlog, of the seed."""
    for place in range(len(case.size.producers)):
        case = _lower_producer(case, workload, holds, place)
    return _lower(_lower(case, workload, holds, "backlog", 0), workload, holds, "jobs", 1)


def fewer_rounds(case: Case, workload: Workload, holds: Holds) -> Case:
    """Make the safety phase shorter, and the liveness phase as short as a fair one may be."""
    return _lower(_lower(case, workload, holds, "rounds", 1), workload, holds, "liveness_rounds", 1)


def fewer_others(case: Case, workload: Workload, holds: Holds) -> Case:
    """Take ghosts and all recoverers but one away: without any, a job would be lost for another reason."""
    case = _lower(case, workload, holds, "recoverers", 1)
    return _first(case, workload, holds, [case.size._replace(ghosts=False)])


def earlier(case: Case, workload: Workload, holds: Holds) -> Case:
    """Move every deviation to an earlier round."""
    for deviation in case.deviations:
        for round_ in range(1, deviation.round):
            others = (other for other in case.deviations if other != deviation)
            candidate = with_deviations(case, (*others, deviation._replace(round=round_)))
            if holds(candidate):
                case = candidate
                break
    return case


PASSES: tuple[Pass, ...] = (
    leap,
    drop_deviations,
    drop_faults,
    fewer_workers,
    fewer_jobs,
    fewer_rounds,
    fewer_others,
    hold_instead,
    earlier,
)
"""The literal registry of passes, in the order in which they are tried until none of them helps."""


def _small_sizes(size: Size) -> Iterator[Size]:
    for jobs, rounds in dict.fromkeys(((1, 1), (2, 1), (2, size.rounds))):
        yield size._replace(
            workers=min(2, size.workers),
            jobs=min(jobs, size.jobs),
            backlog=0,
            producers=tuple(0 for _ in size.producers),
            recoverers=min(1, size.recoverers),
            rounds=rounds,
            liveness_rounds=1,
        )


def _thinned(case: Case) -> Iterator[Case]:
    """No deviations; single faults at the beginning; all faults; all of them. Steps coalesce as long as only faults are kept."""
    coarse = replace(case, coalesced=True)
    yield with_deviations(coarse, ())
    for fault in case.faults:
        yield with_deviations(coarse, [fault._replace(round=1)])
    if len(case.faults) > 1:
        yield with_deviations(coarse, case.faults)
    if case.orders:
        yield case


def _without(case: Case, dropped: Sequence[Deviation]) -> Case:
    return with_deviations(case, (deviation for deviation in case.deviations if deviation not in dropped))


def _lower(case: Case, workload: Workload, holds: Holds, field: str, least: int) -> Case:
    """Lower one number of the size as far as a few tries show: to the least, to the half, by one."""
    if workload.script:
        return case
    while (now := getattr(case.size, field)) > least:
        values = dict.fromkeys((least, (least + now) // 2, now - 1))
        smaller = _first(case, workload, holds, [case.size._replace(**{field: value}) for value in values])
        if smaller is case:
            break
        case = smaller
    return case


def _lower_producer(case: Case, workload: Workload, holds: Holds, place: int) -> Case:
    producers = case.size.producers
    fewer = [(*producers[:place], jobs, *producers[place + 1 :]) for jobs in range(min(2, producers[place]))]
    return _first(case, workload, holds, [case.size._replace(producers=each) for each in fewer])


def _first(case: Case, workload: Workload, holds: Holds, sizes: Sequence[Size]) -> Case:
    for size in sizes:
        candidate = fitted_to(case, size, workload)
        if holds(candidate):
            return candidate
    return case


def _runs(orders: Sequence[Deviation]) -> Iterator[tuple[Deviation, ...]]:
    """Steps in a row of one round that are out of turn, the longest rows first; single ones are none."""
    rows: list[list[Deviation]] = []
    for one in orders:
        follows = rows and (rows[-1][-1].kind, rows[-1][-1].round, rows[-1][-1].place) == (one.kind, one.round, one.place - 1)
        if follows:
            rows[-1].append(one)
        else:
            rows.append([one])
    yield from (tuple(row) for row in sorted(rows, key=len, reverse=True) if len(row) > 1)


def _holds_for(orders: Sequence[Deviation], case: Case, workload: Workload) -> Iterator[Deviation]:
    """Every actor put off at every step of the rounds in which others go out of turn, from the first such step's turn on."""
    lanes = lanes_of(workload)
    workers = [lane.actor for lane in lanes if lane.program == "worker"][: case.size.workers]
    actors = [*workers, *(lane.actor for lane in lanes if lane.program == "recoverer")]
    for round_ in dict.fromkeys(deviation.round for deviation in orders):
        places = [deviation.place for deviation in orders if deviation.round == round_]
        for place in range(max(1, min(places) - len(actors)), max(places) + 1):
            yield from (Deviation(HOLD, round_, place, actor) for actor in actors)
