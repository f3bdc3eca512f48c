"""Transactions of a history: where each began, how it ended and what it left in the committed state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from simrunner.history.intervals import Transaction, TxnEnd
from simrunner.model.event import Event

_TRACES = frozenset({"transition", "renewal", "effect"})
_STATEMENT = frozenset({"sent", "ok", "failed", "backend-gone"})


def transactions_of(events: Iterable[Event]) -> dict[int, Transaction]:
    """Return the transactions by number, in order of their first event."""
    parts: dict[int, list[Event]] = {}
    for event in events:
        if event.txn is not None:
            parts.setdefault(event.txn, []).append(event)
    return {txn: _transaction(txn, own) for txn, own in parts.items()}


def _transaction(txn: int, own: Sequence[Event]) -> Transaction:
    how, end = _ending([event for event in own if event.kind in _STATEMENT])
    return Transaction(txn, own[0], end, how, tuple(event for event in own if event.kind in _TRACES))


def _ending(steps: Sequence[Event]) -> tuple[TxnEnd, Event | None]:
    """Find the event that ended a transaction. One without BEGIN is an autocommit statement: its outcome ends it."""
    explicit = any(event.value == "BEGIN" for event in steps)
    aborted = commit_sent = False
    for event in steps:
        last_word = event.value in ("COMMIT", "ROLLBACK") or not explicit
        if event.kind == "backend-gone":
            return (TxnEnd.UNCERTAIN if commit_sent else TxnEnd.GONE), event
        if event.kind == "failed":
            if last_word:
                return TxnEnd.ROLLED_BACK, event
            aborted = True
        elif event.kind == "sent":
            commit_sent = commit_sent or (last_word and event.value != "ROLLBACK")
        elif last_word:
            # PostgreSQL answers COMMIT in an aborted transaction with success and rolls it back.
            return (TxnEnd.ROLLED_BACK if aborted or event.value == "ROLLBACK" else TxnEnd.COMMITTED), event
    return TxnEnd.OPEN, None
