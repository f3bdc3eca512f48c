"""single-live-claim: nobody claims a job while another claim of it is valid."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise

from simrunner.checkers.wording import job, judged, moment, token
from simrunner.history.history import History
from simrunner.history.intervals import LockInterval, OwnershipInterval, Transaction, owner_of
from simrunner.model.design import Ownership
from simrunner.model.event import Event
from simrunner.model.job import JobState
from simrunner.model.verdict import Finding, Judgement

NAME = "single-live-claim"


def check(history: History) -> Judgement:
    """Find claims that commit while the interval of the claim before them is open and its lease valid.

    Every claim is an opportunity. Where the row lock is the claim, two transactions may not have got the same job at a time.
    """
    if history.context.ownership is Ownership.LOCK:
        return _judge_locks(history) if history.context.mode == "stepped" else _judge_races(history)
    findings = [
        _double_claim(before, after)
        for intervals in history.ownership.values()
        for before, after in pairwise(intervals)
        if before.open_at(after.claim.seq) and _valid(history, before, after)
    ]
    return judged(len(history.claims), findings)


def _valid(history: History, before: OwnershipInterval, after: OwnershipInterval) -> bool:
    lease = before.lease_at(after.claim.seq)
    if history.context.ownership is Ownership.ROW or lease is None:
        return True
    return after.claim.txn_time is not None and after.claim.txn_time <= lease


def _double_claim(before: OwnershipInterval, after: OwnershipInterval) -> Finding:
    claim, source = after.claim, before.lease_source(after.claim.seq)
    until = "without an expiry" if source.lease_until is None else f"valid until {moment(source.lease_until)}"
    text = (
        f"{after.owner} claimed {job(after.job)} with {token(after.token)} at {moment(claim.txn_time)} "
        f"while the claim of {before.owner} with {token(before.token)} was still open and {until}."
    )
    witness = tuple(sorted({before.claim.seq, source.seq, claim.seq}))
    return Finding(NAME, claim.seq, after.job, witness, text)


def _judge_locks(history: History) -> Judgement:
    findings = [finding for locks in history.locks.values() for finding in _shared_locks(locks)]
    return judged(sum(len(locks) for locks in history.locks.values()), findings)


def _shared_locks(locks: Sequence[LockInterval]) -> Iterator[Finding]:
    """Find claims that got a job while an earlier one still had it; of several earlier ones the last to end is shown."""
    holder = locks[0]
    for lock in locks[1:]:
        if _last(holder) > lock.start.seq:
            yield _shared_lock(holder, lock)
        holder = max(holder, lock, key=_last)


def _judge_races(history: History) -> Judgement:
    """Judge the locks of concurrent rounds, where the order of replies tells nothing, by what their transactions committed."""
    ended = [
        (lock, history.transactions[lock.txn])
        for locks in history.locks.values()
        for lock in locks
        if history.transactions[lock.txn].acknowledged
    ]
    raced: dict[tuple[int, str, int | None], list[tuple[LockInterval, Transaction]]] = {}
    for lock, transaction in ended:
        raced.setdefault((lock.job, lock.start.phase, lock.start.round), []).append((lock, transaction))
    return judged(len(ended), [finding for rivals in raced.values() for finding in _overtaken(rivals)])


def _overtaken(rivals: Sequence[tuple[LockInterval, Transaction]]) -> Iterator[Finding]:
    """Find claims whose transaction committed and could do nothing with the job, because another of the round had ended it."""
    ends = [end for lock, transaction in rivals if (end := _end_of(lock.job, transaction)) is not None]
    for lock, transaction in rivals if ends else ():
        if transaction.end is not None and all(trace.job != lock.job for trace in transaction.traces):
            text = (
                f"{owner_of(lock.start)} got {job(lock.job)} and committed without a change of it: in the same round "
                f"{owner_of(ends[0])}, which had got it too, took it to {ends[0].to_state or 'no row'}."
            )
            witness = tuple(sorted((lock.start.seq, ends[0].seq, transaction.end.seq)))
            yield Finding(NAME, max(ends[0].seq, transaction.end.seq), lock.job, witness, text)


def _end_of(job_ordinal: int, transaction: Transaction) -> Event | None:
    """Return the transition with which a transaction took a job out of ready."""
    moves = (trace for trace in transaction.traces if trace.kind == "transition" and trace.job == job_ordinal)
    return next((move for move in moves if move.to_state != JobState.READY), None)


def _last(lock: LockInterval) -> int:
    return sys.maxsize if lock.end is None else lock.end.seq


def _shared_lock(holder: LockInterval, lock: LockInterval) -> Finding:
    text = (
        f"{owner_of(lock.start)} got {job(lock.job)} while the transaction of {owner_of(holder.start)}, "
        "which had claimed it, was still open."
    )
    return Finding(NAME, lock.start.seq, lock.job, (holder.start.seq, lock.start.seq), text)
