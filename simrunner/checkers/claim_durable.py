"""claim-durable: an acknowledged claim is in the committed state, until a transition explains its end."""

from __future__ import annotations

from collections.abc import Mapping

from simrunner.checkers.wording import job, judged, token
from simrunner.history.history import History
from simrunner.history.intervals import OwnershipInterval, Transaction, owner_of
from simrunner.model.design import Ownership
from simrunner.model.event import SERVER, Event
from simrunner.model.job import JobRow, JobState
from simrunner.model.verdict import Finding, Judgement

NAME = "claim-durable"


def check(history: History) -> Judgement:
    """Find claims that were acknowledged to their client and are not, or not for long, in the committed state.

    Each job of an acknowledged claim is an opportunity. Where the row lock is the claim nothing is to be durable.
    """
    if history.context.ownership is Ownership.LOCK:
        return Judgement(0, ())
    acknowledged = [
        (history.transactions[txn], read)
        for txn, reads in history.deliveries.items()
        if history.transactions[txn].acknowledged
        for read in reads
        if read.job is not None
    ]
    missing = [finding for txn, read in acknowledged if (finding := _missing(txn, read))]
    final = None if history.context.final_jobs is None else dict(history.context.final_jobs)
    later = [finding for interval in history.intervals if (finding := _vanished(history, interval, final))]
    return judged(len(acknowledged), [*missing, *later])


def _missing(txn: Transaction, read: Event) -> Finding | None:
    changes = [trace for trace in txn.traces if trace.kind == "transition" and trace.job == read.job]
    if txn.end is None or any(_carries(change, read) for change in changes):
        return None
    who = f"The claim of {job(read.job)} by {owner_of(read)} with {token(read.token)} was acknowledged"
    if not changes:
        text = f"{who}, but its transaction committed no change of the job."
        return Finding(NAME, txn.end.seq, read.job, (read.seq, txn.end.seq), text)
    text = f"{who}, but the committed row carries {token(changes[0].token)}."
    return Finding(NAME, changes[0].seq, read.job, (read.seq, txn.end.seq, changes[0].seq), text)


def _carries(change: Event, read: Event) -> bool:
    return change.token is None or read.token is None or change.token == read.token


def _vanished(history: History, interval: OwnershipInterval, final: Mapping[int, JobRow] | None) -> Finding | None:
    """Judge an acknowledged claim that a server restart undid, or that is not in the final state without a transition."""
    txn = history.transactions.get(interval.claim.txn or 0)
    if txn is None or txn.end is None or not txn.acknowledged:
        return None
    if interval.end is not None:
        return _undone(interval, txn.end, interval.end) if interval.end.actor == SERVER else None
    if final is None or _is_claim(history, interval, final.get(interval.job)):
        return None
    return _unexplained(interval, txn.end, final.get(interval.job), history.by_job[interval.job][-1].seq)


def _undone(interval: OwnershipInterval, ack: Event, end: Event) -> Finding:
    text = f"{_acknowledged(interval)} and committed, but after the restart of the server it was gone."
    return Finding(NAME, end.seq, interval.job, tuple(sorted((ack.seq, interval.claim.seq, end.seq))), text)


def _is_claim(history: History, interval: OwnershipInterval, row: JobRow | None) -> bool:
    if row is None or row.state != JobState.CLAIMED:
        return False
    name = history.context.token_names.get(interval.token or 0)
    return name is None or row.token is None or row.token == name


def _unexplained(interval: OwnershipInterval, ack: Event, row: JobRow | None, last: int) -> Finding:
    found = "has no row" if row is None else f"is {row.state} with {f'token {row.token}' if row.token else 'no token'}"
    text = f"{_acknowledged(interval)} and nothing ended it, but at the end of the run the job {found}."
    return Finding(NAME, last, interval.job, tuple(sorted({ack.seq, interval.claim.seq, last})), text)


def _acknowledged(interval: OwnershipInterval) -> str:
    return f"The claim of {job(interval.job)} by {interval.owner} with {token(interval.token)} was acknowledged"
