"""claim-due: nobody claims a job before its stored available_at: one that is scheduled, or waits for its next attempt.

A job is due from its available_at on, by the clock of the claim's own transaction: what now() told it, never the time of its
commit, so a clock that jumps between two transactions makes nobody late or early. A job without available_at is always due.
What counts is the value committed last before the claim, also where the claim had read an earlier one.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from itertools import takewhile
from typing import NamedTuple

from simrunner.checkers.wording import deed, job, judged, moment, sentence
from simrunner.history.attempts import ClaimAttempt
from simrunner.history.history import History
from simrunner.history.order import Place, place_of
from simrunner.model.event import Event
from simrunner.model.verdict import Finding, Judgement

NAME = "claim-due"


class _Early(NamedTuple):
    """A claim of a job that was not yet due."""

    claim: Event
    known: Event
    """The job's last committed change before it, which tells when the job would be due."""
    early_us: int


def check(history: History) -> Judgement:
    """Find the claims that committed before their job was due.

    An opportunity is a claim, be it in vain, that nothing but the due time kept from a ready job: it took less than its batch,
    or a job that stands behind that one in the declared order (without one: any job). Jobs that wait where a full batch of due
    ones stands ahead of them tempt nobody: a claim that ignores the due time does not take them either.
    """
    early = {claim.seq: found for claim in history.claims if (found := _early(claim, history))}
    chances = [one for one, ready in _answered(history) if _is_kept(one, ready, history) or _is_early(one, early)]
    return judged(len(chances), [_finding(found) for found in early.values()])


def _early(claim: Event, history: History) -> _Early | None:
    known = history.change_before(claim.job, claim.seq) if claim.job is not None else None
    if known is None or known.available_at is None or claim.txn_time is None or known.available_at <= claim.txn_time:
        return None
    return _Early(claim, known, known.available_at - claim.txn_time)


def _is_early(attempt: ClaimAttempt, early: dict[int, _Early]) -> bool:
    return any(claim.seq in early for claim in attempt.claims)


def _answered(history: History) -> Iterator[tuple[ClaimAttempt, _Ready]]:
    """Yield each claim that took something for good or found nothing, with the jobs that were ready when it was sent."""
    changes = sorted((event for events in history.changes.values() for event in events), key=lambda event: event.seq)
    ready = _Ready()
    place = 0
    for attempt in history.attempts:
        end = bisect_left(changes, attempt.sent.seq, lo=place, key=lambda event: event.seq)
        for change in changes[place:end]:
            ready.follow(change)
        place = end
        if attempt.claims or attempt.empty is not None:
            yield attempt, ready


class _Ready:
    """The committed ready jobs that have an available_at: by that, and in claim order."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, Place]] = {}
        self._by_due: list[tuple[int, int]] = []
        """(available_at in microseconds, job), ascending."""
        self._in_order: list[tuple[Place, int]] = []
        """(place in the declared order, job), ascending."""

    def follow(self, change: Event) -> None:
        """Take in the next committed change of a job."""
        if change.job is None:
            return
        if change.job in self._known:
            due_us, place = self._known.pop(change.job)
            del self._by_due[bisect_left(self._by_due, (due_us, change.job))]
            del self._in_order[bisect_left(self._in_order, (place, change.job))]
        if change.to_state == "ready" and change.available_at is not None:
            place = () if change.order_key is None else place_of(change.order_key)
            self._known[change.job] = change.available_at, place
            insort(self._by_due, (change.available_at, change.job))
            insort(self._in_order, (place, change.job))

    def any_waits(self, now_us: int) -> bool:
        """Whether a job is due only after a time, in microseconds."""
        return bool(self._by_due) and self._by_due[-1][0] > now_us

    def waits_ahead(self, now_us: int, behind: Place) -> bool:
        """Whether one of those stands ahead of a place in the order."""
        ahead = takewhile(lambda entry: entry[0] < behind, self._in_order)
        return any(self._known[number][0] > now_us for _, number in ahead)


def _is_kept(attempt: ClaimAttempt, ready: _Ready, history: History) -> bool:
    """Whether a claim would have taken another job, had every ready one been due."""
    now_us = attempt.sent.txn_time
    if now_us is None or not ready.any_waits(now_us):
        return False
    taken = [history.change_before(claim.job, claim.seq) for claim in attempt.claims if claim.job is not None]
    places = [place_of(change.order_key) for change in taken if change is not None and change.order_key is not None]
    if len(taken) < history.context.batch or not places or not history.context.promises.order:
        return True
    return ready.waits_ahead(now_us, max(places))


def _finding(early: _Early) -> Finding:
    claim, known, early_us = early
    text = (
        f"{sentence(deed(claim))} claimed {job(claim.job)} at {moment(claim.txn_time)}, {early_us / 1000:g} ms before it was due:"
        f" its committed row said {moment(known.available_at)}."
    )
    return Finding(NAME, claim.seq, claim.job, (known.seq, claim.seq), text)
