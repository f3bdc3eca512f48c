"""starvation-freedom: while a job is ready, available and unlocked, only so many claims of jobs behind it may pass it.

Behind it is whatever the declared order puts behind it. Of a job of the cohort, which is finite, later arrivals that
are more preferred count too; others may be passed by them without end, and nothing else is promised to them.

Every step of the walk over the claims counts one pass of one stay, and a stay that has exceeded the bound is taken out:
the work is at most (bound + 1) per stay, beside the few jobs that are locked at the time.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

from simrunner.checkers.stays import Pass, Stay, passes_of, stays_of
from simrunner.checkers.wording import judged
from simrunner.history.history import History
from simrunner.history.order import Place
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


class _Waiting:
    """The stays that are going on and available: in claim order and, for the cohort, in order of entry."""

    def __init__(self) -> None:
        self.by_place: list[tuple[Place, int, Stay]] = []
        self.by_entry: list[tuple[int, Stay]] = []

    def add(self, stay: Stay) -> None:
        insort(self.by_place, (stay.place, stay.entry.seq, stay), key=lambda item: item[:2])
        if stay.in_cohort:
            insort(self.by_entry, (stay.entry.seq, stay), key=lambda item: item[0])

    def remove(self, stay: Stay) -> None:
        place = bisect_left(self.by_place, (stay.place, stay.entry.seq), key=lambda item: item[:2])
        if place < len(self.by_place) and self.by_place[place][2] is stay:
            del self.by_place[place]
        entry = bisect_left(self.by_entry, stay.entry.seq, key=lambda item: item[0])
        if entry < len(self.by_entry) and self.by_entry[entry][1] is stay:
            del self.by_entry[entry]

    def passed_by(self, taken: Stay) -> Iterator[Stay]:
        """Yield the stays that a claim of `taken` passes: those ahead in the order, then those that only came earlier."""
        for place, _, stay in self.by_place:
            if place >= taken.place:
                break
            yield stay
        for entry_seq, stay in self.by_entry:
            if entry_seq >= taken.entry.seq:
                break
            if stay.place > taken.place:
                yield stay


def _starved(stays: Sequence[Stay], passes: Sequence[Pass], bound: int, history: History) -> Iterator[Stay]:
    """Walk over the claims and yield each stay at the pass that exceeds the bound."""
    waiting = _Waiting()
    scheduled: list[tuple[int, int, Stay]] = []
    leaving = sorted((stay for stay in stays if stay.leaves_seq is not None), key=lambda stay: stay.leaves_seq or 0)
    entered = left = 0
    for one in passes:
        while entered < len(stays) and stays[entered].entry.seq < one.window[0]:
            heappush(scheduled, (stays[entered].entry.available_at or 0, entered, stays[entered]))
            entered += 1
        while scheduled and scheduled[0][0] <= one.txn_time:
            available = heappop(scheduled)[2]
            if not _has_left(available, one):
                waiting.add(available)
        while left < len(leaving) and (leaving[left].leaves_seq or 0) <= one.window[1]:
            waiting.remove(leaving[left])
            left += 1
        for stay in [stay for stay in waiting.passed_by(one.stay) if _counts(stay, one, history)]:
            stay.passes.append(one.claim.seq)
            if len(stay.passes) > bound:
                waiting.remove(stay)
                yield stay


def _counts(stay: Stay, one: Pass, history: History) -> bool:
    """Whether a stay was eligible and unlocked all the time while a claim chose."""
    if stay.job in one.locked or (stay.entry.available_at or 0) > one.txn_time:
        return False
    if _has_left(stay, one) or stay.entry.seq >= one.window[0]:
        return False
    locks = history.locks.get(stay.job, ())
    return not any(lock.start.seq < one.window[1] and (lock.end is None or lock.end.seq > one.window[0]) for lock in locks)


def _has_left(stay: Stay, one: Pass) -> bool:
    return stay.leaves_seq is not None and stay.leaves_seq <= one.window[1]


def _finding(stay: Stay, bound: int) -> Finding:
    text = (
        f"Job {{job:{stay.job}}} was ready since event {stay.entry.seq}, available and unlocked, while {len(stay.passes)} claims "
        f"of jobs that were not ahead of it passed; at most {bound} may."
    )
    return Finding(NAME, stay.passes[-1], stay.job, (stay.entry.seq, *stay.passes), text)
