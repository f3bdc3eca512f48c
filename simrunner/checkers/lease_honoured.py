"""lease-honoured: nobody takes a job away before its stored expiry."""

from __future__ import annotations

from typing import NamedTuple

from simrunner.checkers.wording import deed, job, judged, moment, sentence, token
from simrunner.history.history import History
from simrunner.history.intervals import OwnershipInterval
from simrunner.model.event import Event
from simrunner.model.verdict import Finding, Judgement

NAME = "lease-honoured"
_TAKES_AWAY = ("recover", "recover-batch", "recover-write", "claim")
"""Operations that end the claim of another; a claim does so by a steal or by a recovery of its own."""


class _Taken(NamedTuple):
    """A claim with a lease that was taken away."""

    interval: OwnershipInterval
    end: Event
    source: Event
    """What had written the lease."""
    lease_until: int


def check(history: History) -> Judgement:
    """Find recoveries and steals at a txn_time that is not after the stored expiry. Each of them is an opportunity."""
    every = [taken for interval in history.intervals if (taken := _taken(interval))]
    early = [taken for taken in every if taken.end.txn_time is not None and taken.end.txn_time <= taken.lease_until]
    return judged(len(every), [_finding(history, taken) for taken in early])


def _taken(interval: OwnershipInterval) -> _Taken | None:
    end = interval.end
    if end is None or end.operation not in _TAKES_AWAY:
        return None
    source = interval.lease_source(end.seq)
    return None if source.lease_until is None else _Taken(interval, end, source, source.lease_until)


def _finding(history: History, taken: _Taken) -> Finding:
    interval, end = taken.interval, taken.end
    lives = "alive" if history.alive(interval.owner, end.seq) else "dead"
    text = (
        f"{sentence(deed(end))} took {job(interval.job)} from {interval.owner} ({lives}, {token(interval.token)}) "
        f"at {moment(end.txn_time)}, although the stored lease was valid until {moment(taken.lease_until)}."
    )
    return Finding(NAME, end.seq, interval.job, tuple(sorted({interval.claim.seq, taken.source.seq, end.seq})), text)
