"""Stays and passes: the periods in which a job is ready, and the committed claims that went by meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from simrunner.history.attempts import ClaimAttempt
from simrunner.history.history import History
from simrunner.history.order import Place, place_of
from simrunner.history.ownership import is_claim
from simrunner.model.event import Event

Window = tuple[int, int]
"""(seq at which a claim's choice began, seq at which it was made); concurrent claims of one round share theirs."""


@dataclass(slots=True)
class Stay:
    """One uninterrupted period in which a job is ready."""

    job: int
    entry: Event
    end: Event | None
    """The transition that ended it."""
    window: Window | None
    """When the claim that ended it chose; None: it was not ended by a claim."""
    place: Place
    """In the declared order; fixed during the stay."""
    in_cohort: bool
    passes: list[int] = field(default_factory=list)
    """seqs of the claims that passed it so far."""

    @property
    def leaves_seq(self) -> int | None:
        """Where it is gone for good: the choice that took it, or the transition that ended it. None: never."""
        if self.window is not None:
            return self.window[1]
        return None if self.end is None else self.end.seq

    def has_left(self, window: Window) -> bool:
        """Whether it had ended when a claim's choice was made."""
        return self.leaves_seq is not None and self.leaves_seq <= window[1]


@dataclass(frozen=True, slots=True)
class Pass:
    """One committed claim of a ready job."""

    claim: Event
    window: Window
    txn_time: int
    """Microseconds: what the claim's now() told it; a job with a later available_at was not eligible."""
    stay: Stay
    """The stay that it ended."""
    locked: frozenset[int]
    """Jobs that its probe saw locked. For membership tests only."""


def stays_of(history: History) -> tuple[Stay, ...]:
    """Return the stays of all jobs whose order is known, in order of entry."""
    windows = windows_by_txn(history)
    found = [stay for job, changes in history.changes.items() for stay in _stays(job, changes, windows, history)]
    return tuple(sorted(found, key=lambda stay: stay.entry.seq))


def passes_of(history: History, stays: Iterable[Stay]) -> tuple[Pass, ...]:
    """Return the committed claims that ended stays, in the order in which they chose."""
    locked = {attempt.sent.txn: _locked(attempt) for attempt in history.attempts}
    found = [
        Pass(stay.end, stay.window, stay.end.txn_time or 0, stay, locked.get(stay.end.txn, frozenset()))
        for stay in stays
        if stay.end is not None and stay.window is not None
    ]
    return tuple(sorted(found, key=lambda one: (one.window[1], one.claim.seq)))


def windows_by_txn(history: History) -> dict[int | None, Window]:
    """Return the window of each claim by its transaction."""
    found: dict[int | None, Window] = {}
    rounds = history.context.mode == "rounds"
    groups = [claims.attempts for claims in history.rounds] if rounds else [(attempt,) for attempt in history.attempts]
    for group in groups:
        window = min(attempt.seen_seq for attempt in group), max(attempt.decided_seq for attempt in group)
        found.update((attempt.sent.txn, window) for attempt in group)
    found.pop(None, None)
    return found


def _locked(attempt: ClaimAttempt) -> frozenset[int]:
    return frozenset(one.job for one in attempt.candidates if one.blocked_by is not None and one.job is not None)


def _stays(job: int, changes: tuple[Event, ...], windows: dict[int | None, Window], history: History) -> Iterator[Stay]:
    entry: Event | None = None
    in_cohort = history.context.cohort == "all" or (changes[0].kind == "seed" and changes[0].cohort is not None)
    for event in changes:
        if event.kind == "renewal":
            continue
        if entry is not None:
            window = windows.get(event.txn, (event.seq, event.seq)) if is_claim(event, entry.generation or 0) else None
            yield Stay(job, entry, event, window, place_of(entry.order_key or "[]"), in_cohort)
        entry = event if event.to_state == "ready" and event.order_key is not None else None
    if entry is not None:
        yield Stay(job, entry, None, None, place_of(entry.order_key or "[]"), in_cohort)
