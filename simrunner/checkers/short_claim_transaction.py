"""short-claim-transaction: no transaction that was opened before the work started is still open when the work ends.

A row lock lasts until the end of its transaction, so a transaction that spans the work keeps its rows away from everybody,
and keeps vacuum from removing what died meanwhile, for as long as the work takes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

from simrunner.checkers.wording import job, judged, moment
from simrunner.history.history import History
from simrunner.history.intervals import Transaction, WorkInterval, owner_of
from simrunner.model.event import Event
from simrunner.model.verdict import Finding, Judgement

NAME = "short-claim-transaction"

Transactions = Mapping[str, Sequence[Transaction]]
"""The transactions of each process, in the order in which they began; one ends before the next begins."""


def check(history: History) -> Judgement:
    """Judge every work interval that ended, be it by the death of its process."""
    transactions = _by_process(history.transactions.values())
    ended = [(work, work.end) for work in history.work if work.end is not None]
    found = (_spanning(work, end, transactions.get(work.owner, ())) for work, end in ended)
    return judged(len(ended), (finding for finding in found if finding is not None))


def _by_process(transactions: Iterable[Transaction]) -> Transactions:
    found: dict[str, list[Transaction]] = {}
    for transaction in transactions:
        found.setdefault(owner_of(transaction.first), []).append(transaction)
    return found


def _spanning(work: WorkInterval, end: Event, transactions: Sequence[Transaction]) -> Finding | None:
    place = bisect_left(transactions, work.start.seq, key=lambda transaction: transaction.first.seq)
    if place == 0:
        return None
    before = transactions[place - 1]
    return None if before.end is not None and before.end.seq < end.seq else _finding(work, end, before)


def _finding(work: WorkInterval, end: Event, transaction: Transaction) -> Finding:
    text = (
        f"{work.owner} worked on {job(work.job)} from {moment(work.start.virtual_time)} to {moment(end.virtual_time)} inside the "
        f"transaction that it had begun at {moment(transaction.first.txn_time)}: until that ended, the row was locked."
    )
    return Finding(NAME, end.seq, work.job, (transaction.first.seq, work.start.seq, end.seq), text)
