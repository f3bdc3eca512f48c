"""Ownership of jobs: the intervals O(j,g) between the claims of a job and what ended them.

Where the row lock is the claim, an interval goes from the claim's result to the end of its transaction, whether that commits or
not; its generation is the one that the transaction gave the job, or would have given it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

from simrunner.history.intervals import Call, LockInterval, OwnershipInterval, owner_of
from simrunner.model.event import Event
from simrunner.model.operations import FENCED_WRITES

Writes = Mapping[int | None, Sequence[Call]]
"""Calls of fenced writes by transaction."""


def is_claim(transition: Event, generation_before: int) -> bool:
    """Whether a transition is a claim: it raises the generation. It leads to `claimed`, unless its transaction ended it too."""
    return (transition.generation or 0) > generation_before


def claims_of(changes: Iterable[Event]) -> tuple[Event, ...]:
    """Return the claims among one job's seed, transitions and renewals."""
    found: list[Event] = []
    generation = 0
    for event in changes:
        if event.kind == "transition" and is_claim(event, generation):
            found.append(event)
        generation = event.generation if event.generation is not None else generation
    return tuple(found)


def ownership_of(changes: Sequence[Event], writes: Writes) -> tuple[OwnershipInterval, ...]:
    """Return the ownership intervals of one job, from its seed, transitions and renewals in order."""
    claims = {claim.seq for claim in claims_of(changes)}
    starts = [place for place, event in enumerate(changes) if event.seq in claims]
    return tuple(_interval(changes[place], *_until_end(changes, _first_after(changes, place)), writes) for place in starts)


def _first_after(changes: Sequence[Event], place: int) -> int:
    """Where to look for the end of the claim at `place`: the claim itself, if its transaction ended it too."""
    return place + 1 if changes[place].to_state == "claimed" else place


def ownership_by_lock(locks: Iterable[LockInterval], changes: Sequence[Event]) -> tuple[OwnershipInterval, ...]:
    """Return the ownership intervals of one job whose claims are row locks; `changes` as of `ownership_of`."""
    raised = {event.txn: event.generation for event in changes if event.kind == "transition" and event.txn is not None}
    return tuple(_while_locked(lock, raised.get(lock.txn) or _generation_at(changes, lock.start.seq) + 1) for lock in locks)


def _while_locked(lock: LockInterval, generation: int) -> OwnershipInterval:
    read, own = lock.start, lock.end is not None and lock.end.kind != "backend-gone"
    return OwnershipInterval(lock.job, generation, owner_of(read), read.token, read, (), lock.end, own)


def _generation_at(changes: Sequence[Event], seq: int) -> int:
    place = bisect_left(changes, seq, key=lambda event: event.seq)
    return (changes[place - 1].generation or 0) if place else 0


def _until_end(changes: Sequence[Event], place: int) -> tuple[tuple[Event, ...], Event | None]:
    """Return the renewals from `place` on and the transition behind them: whichever comes first ends a claim."""
    renewals: list[Event] = []
    for index in range(place, len(changes)):
        if changes[index].kind == "transition":
            return tuple(renewals), changes[index]
        renewals.append(changes[index])
    return tuple(renewals), None


def _interval(claim: Event, renewals: tuple[Event, ...], end: Event | None, writes: Writes) -> OwnershipInterval:
    if claim.job is None or claim.generation is None:
        raise ValueError(f"event {claim.seq} is a claim without job or generation")
    own = end is not None and (end is claim or _by_owner(claim, end, writes))
    return OwnershipInterval(claim.job, claim.generation, owner_of(claim), claim.token, claim, renewals, end, own)


def _by_owner(claim: Event, end: Event, writes: Writes) -> bool:
    """Whether the write that ended a claim carried its token; where no token is known, whether its process sent it."""
    if end.operation not in FENCED_WRITES:
        return False
    sent = [call.sent for call in writes.get(end.txn, ()) if call.sent.job == claim.job]
    tokens = [event.token for event in sent if event.token is not None]
    if tokens and claim.token is not None:
        return claim.token in tokens
    return owner_of(claim) == owner_of(end)
