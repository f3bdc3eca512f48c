"""concurrency-limit: no more jobs of one group are owned at a time than the design declares.

A claim whose lease has lapsed does not count: anybody may take its job. Whether its owner still works is another question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from simrunner.checkers.wording import job, judged, moment
from simrunner.history.history import History
from simrunner.history.intervals import OwnershipInterval
from simrunner.model.design import Ownership
from simrunner.model.event import Event
from simrunner.model.verdict import Finding, Judgement

NAME = "concurrency-limit"


def check(history: History) -> Judgement:
    """Judge every claim of a job with a group when it commits; where claims race, what is owned when their round has ended.

    In a concurrent round the order of what happens to different jobs is not known.
    """
    limit = history.context.promises.concurrency_limit
    if limit is None:
        return Judgement(0, ())
    stepped = history.context.mode == "stepped"
    found: list[Finding] = []
    opportunities = 0
    for group, intervals in _by_group(history).items():
        opportunities += len(intervals)
        moments = [interval.claim for interval in intervals] if stepped else _round_ends(intervals, history)
        found.extend(_exceeded(group, intervals, moments, limit, history))
    return judged(opportunities, found)


def _by_group(history: History) -> dict[str, list[OwnershipInterval]]:
    """The ownership intervals of each group's jobs in the order of their claims."""
    found: dict[str, list[OwnershipInterval]] = {}
    for interval in history.intervals:
        row = history.change_before(interval.job, interval.claim.seq + 1)
        if row is not None and row.group is not None:
            found.setdefault(row.group, []).append(interval)
    return found


def _round_ends(intervals: Sequence[OwnershipInterval], history: History) -> list[Event]:
    """The last claim of each round in which there was one, as of the round's end."""
    last = {(interval.claim.phase, interval.claim.round): interval.claim for interval in intervals}
    ends = {(event.phase, event.round): event.seq for event in history.events}
    return [claim._replace(seq=ends[place]) for place, claim in last.items()]


def _exceeded(
    group: str, intervals: Sequence[OwnershipInterval], moments: Sequence[Event], limit: int, history: History
) -> Iterator[Finding]:
    """Find the moments at which more of a group is owned than before and than the limit allows."""
    begun = 0
    owned: list[OwnershipInterval] = []
    for at in moments:
        while begun < len(intervals) and intervals[begun].claim.seq <= at.seq:
            owned.append(intervals[begun])
            begun += 1
        owned = [interval for interval in owned if _is_owned(interval, at, history)]
        if len(owned) > limit:
            yield _finding(group, owned, at, limit)


def _is_owned(interval: OwnershipInterval, at: Event, history: History) -> bool:
    """Whether a job is owned just after an event. What one transaction ends and what it claims change at the same moment."""
    if interval.end is not None and (interval.end.seq <= at.seq or interval.end.txn == at.txn):
        return False
    lease = interval.lease_at(at.seq)
    return history.context.ownership is not Ownership.LEASE or lease is None or at.txn_time is None or at.txn_time <= lease


def _finding(group: str, owned: Sequence[OwnershipInterval], at: Event, limit: int) -> Finding:
    last = owned[-1]
    others = ", ".join(f"{job(interval.job)} by {interval.owner}" for interval in owned[:-1])
    text = (
        f"With the claim of {job(last.job)} by {last.owner} at {moment(last.claim.txn_time)} {len(owned)} jobs of the group"
        f" {group} are owned at a time, where {limit} are allowed: {others} are owned too."
    )
    witness = tuple(interval.claim.seq for interval in owned)
    return Finding(NAME, last.claim.seq, last.job, witness, text)
