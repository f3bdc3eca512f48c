"""Ownership of jobs: the intervals O(j,g) between the claims of a job and what ended them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from simrunner.history.intervals import Call, OwnershipInterval, owner_of
from simrunner.model.event import Event
from simrunner.model.operations import FENCED_WRITES

Writes = Mapping[int | None, Sequence[Call]]
"""Calls of fenced writes by transaction."""


def is_claim(transition: Event, generation_before: int) -> bool:
    """Whether a transition is a claim: it leads to `claimed` and raises the generation."""
    return transition.to_state == "claimed" and (transition.generation or 0) > generation_before


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
    return tuple(_interval(changes[place], *_until_end(changes, place + 1), writes) for place in starts)


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
    own = end is not None and _by_owner(claim, end, writes)
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
