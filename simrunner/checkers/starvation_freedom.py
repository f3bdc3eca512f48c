"""starvation-freedom: while a job is ready, available and unlocked, only so many claims of jobs behind it may pass it.

Behind it is whatever the declared order puts behind it. Of a job of the cohort, which is finite, later arrivals that
are more preferred count too; others may be passed by them without end, and nothing else is promised to them.

Every step of the walk over the claims counts one pass of one stay, and a stay that has exceeded the bound is taken out:
the work is at most (bound + 1) per stay, beside the few jobs that are locked at the time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

from simrunner.checkers.stays import Pass, Stay, passes_of, stays_of
from simrunner.checkers.waiting import Waiting
from simrunner.checkers.wording import judged
from simrunner.history.history import History
from simrunner.history.intervals import LockInterval
from simrunner.model.verdict import Finding, Judgement

NAME = "starvation-freedom"


def check(history: History) -> Judgement:
    """Judge every stay that ended in a claim or saw one. Without a declared order nothing is promised."""
    if not history.context.promises.order:
        return Judgement(0, ())
    stays = stays_of(history)
    passes = passes_of(history, stays)
    starved = list(_starved(stays, passes, _bound(history), history))
    chosen = [one.window[1] for one in passes]
    opportunities = sum(1 for stay in stays if stay.window is not None or _saw_a_claim(stay, chosen))
    return judged(opportunities, (_finding(stay, _bound(history)) for stay in starved))


def _bound(history: History) -> int:
    promised = history.context.promises.starvation_claims
    asked = history.context.starvation_claims
    return asked if promised is None else min(promised, asked)


def _saw_a_claim(stay: Stay, chosen: Sequence[int]) -> bool:
    first = bisect_left(chosen, stay.entry.seq)
    return first < len(chosen) and (stay.leaves_seq is None or chosen[first] < stay.leaves_seq)


def _starved(stays: Sequence[Stay], passes: Sequence[Pass], bound: int, history: History) -> Iterator[Stay]:
    """Walk over the claims and yield each stay at the pass that exceeds the bound."""
    waiting = Waiting(stays)
    locks = history.locks
    for one in passes:
        waiting.until(one)
        passed = [stay for stay in waiting.passed_by(one.stay) if _counts(stay, one, locks)]
        for stay in passed:
            stay.passes.append(one.claim.seq)
        starved = [stay for stay in passed if len(stay.passes) > bound]
        waiting.remove(starved)
        yield from starved


def _counts(stay: Stay, one: Pass, locks: Mapping[int, tuple[LockInterval, ...]]) -> bool:
    """Whether a stay that goes on was there, eligible and unlocked all the time while a claim chose."""
    if stay.entry.seq >= one.window[0] or (stay.entry.available_at or 0) > one.txn_time or stay.job in one.locked:
        return False
    first, last = one.window
    held = locks.get(stay.job)
    return held is None or not any(lock.start.seq < last and (lock.end is None or lock.end.seq > first) for lock in held)


def _finding(stay: Stay, bound: int) -> Finding:
    text = (
        f"Job {{job:{stay.job}}} was ready since event {stay.entry.seq}, available and unlocked, while {len(stay.passes)} claims "
        f"of jobs that were not ahead of it passed; at most {bound} may."
    )
    return Finding(NAME, stay.passes[-1], stay.job, (stay.entry.seq, *stay.passes), text)
