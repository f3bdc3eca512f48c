"""bounded-claim-cost: a claim fetches at most so many times the buffers that the first claims fetched, at no greater depth.

Row versions of jobs that are done stay at the head of the claim's index for as long as somebody's old snapshot keeps them, and
every claim walks over them again: its cost grows with the jobs that were done, although no more are ready. The history tells what
was fetched only where a workload judges this. See https://www.postgresql.org/docs/18/routine-vacuuming.html
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from simrunner.checkers.wording import job, judged
from simrunner.history.attempts import ClaimAttempt
from simrunner.history.history import History
from simrunner.history.intervals import owner_of
from simrunner.model.event import Event
from simrunner.model.job import TERMINAL, JobState
from simrunner.model.verdict import Finding, Judgement

NAME = "bounded-claim-cost"
FIRST_CLAIMS = 10
"""So many claims at the beginning are what later ones are compared with."""

_NOT_COUNTED = (
    "the server did not count what a claim fetched: the claim is a transaction of its own (autocommit), its transaction keeps one"
    " snapshot, or track_counts is off"
)
_RACING = "where claims race nobody knows how deep the queue was for each"


@dataclass(frozen=True, slots=True)
class _Cost:
    """What one claim fetched."""

    attempt: ClaimAttempt
    told: Event
    """Where the history says so."""
    buffers: int
    depth: int
    """Ready jobs when it was sent, be they locked or not yet available."""
    ended: int
    """Jobs that had ended by then."""


def check(history: History) -> Judgement:
    """Compare each claim that succeeded with the dearest of the first ones, unless the queue was deeper than it was for these."""
    counted = [attempt for attempt in history.attempts if _told(attempt)]
    if counted and history.context.mode == "rounds":
        return Judgement(0, (), _RACING)
    costs = list(_costs(history, counted))
    undecided = _NOT_COUNTED if len(costs) < len(counted) else None
    first, later = costs[:FIRST_CLAIMS], costs[FIRST_CLAIMS:]
    if not later:
        return Judgement(0, (), undecided)
    depth, base = max(cost.depth for cost in first), max(first, key=lambda cost: cost.buffers)
    promises = history.context.promises
    bound = promises.claim_cost_factor * max(base.buffers, promises.claim_cost_floor_buffers)
    compared = [cost for cost in later if cost.depth <= depth]
    found = (_finding(cost, base, depth, bound) for cost in compared if cost.buffers > bound)
    return replace(judged(len(compared), found), undecided=undecided)


def _told(attempt: ClaimAttempt) -> tuple[Event, ...]:
    """The events that tell the cost of a claim of which every statement succeeded; none where it was not asked for."""
    if not all(call.succeeded for call in attempt.calls):
        return ()
    return tuple(report for call in attempt.calls for report in call.reports)


def _costs(history: History, counted: list[ClaimAttempt]) -> Iterator[_Cost]:
    """Yield what each claim fetched, of those of which that is known."""
    attempts = {attempt.sent.seq: attempt for attempt in counted}
    ready: dict[int, None] = {}
    ended: dict[int, None] = {}
    for event in history.events:
        if event.kind in ("seed", "transition", "renewal") and event.job is not None:
            _move(event, event.job, ready, ended)
        elif event.seq in attempts:
            told = _told(attempts[event.seq])
            fetched = [int(one.value) for one in told if one.value is not None]
            if len(fetched) == len(told):
                yield _Cost(attempts[event.seq], told[-1], sum(fetched), len(ready), len(ended))


def _move(event: Event, job: int, ready: dict[int, None], ended: dict[int, None]) -> None:
    """Keep which jobs are ready, and which have ended."""
    ready.pop(job, None)
    if event.to_state == JobState.READY:
        ready[job] = None
    if event.to_state is None or event.to_state in TERMINAL:
        ended[job] = None


def _finding(cost: _Cost, base: _Cost, depth: int, bound: int) -> Finding:
    taken = next(iter(cost.attempt.taken), None)
    what = "found nothing" if taken is None else f"took {job(taken)}"
    text = (
        f"The claim of {owner_of(cost.attempt.sent)} that {what} fetched {cost.buffers} buffers of the design's tables and"
        f" indexes, with {cost.depth} jobs ready and {cost.ended} ended. Of the first {FIRST_CLAIMS} claims, with up to {depth}"
        f" jobs ready, none fetched more than {base.buffers}; so {bound} is the most that is promised."
    )
    return Finding(NAME, cost.told.seq, taken, (base.told.seq, cost.attempt.sent.seq, cost.told.seq), text)
