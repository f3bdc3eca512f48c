"""fenced-recovery: a recovery changes only jobs that are as its read saw them, and never one that had ended.

A recovery of one statement reads and writes at once: of it only the state from which it took the job is judged.
"""

from __future__ import annotations

from collections.abc import Iterator

from simrunner.checkers.wording import deed, job, judged, moment, sentence
from simrunner.history.history import History
from simrunner.history.intervals import Call, owner_of
from simrunner.model.event import Event
from simrunner.model.job import TERMINAL
from simrunner.model.verdict import Finding, Judgement

NAME = "fenced-recovery"
READ, WRITE = "recover-read", "recover-write"
_OPERATIONS = frozenset({"recover", "recover-batch", WRITE})


def check(history: History) -> Judgement:
    """Find recoveries of what had changed. Each of its changes and each refused write is an opportunity."""
    changes = [
        change for kind in ("transition", "renewal") for change in history.of_kind(kind) if change.operation in _OPERATIONS
    ]
    refused = sum(1 for call in _writes(history) if call.outcome is not None and call.outcome.rows == 0)
    return judged(len(changes) + refused, [found for change in changes if (found := _judged(history, change)) is not None])


def _judged(history: History, change: Event) -> Finding | None:
    before = history.change_before(change.job or 0, change.seq)
    if before is None:
        return None
    read = _read_of(history, change) if change.operation == WRITE else None
    seen = None if read is None else _seen(history, read, change.job or 0)
    if read is not None and seen is not None and (seen.to_state, seen.generation) != (before.to_state, before.generation):
        return _finding(change, before, f"When it was read it was {_words(seen)}", read)
    if before.to_state in TERMINAL:
        return _finding(change, before, "It had ended")
    return None


def _writes(history: History) -> Iterator[Call]:
    return (call for call in history.calls if call.sent.operation == WRITE and call.sent.job is not None and call.succeeded)


def _read_of(history: History, change: Event) -> Call | None:
    """Return the last read of the same process that returned the job."""
    reads = (call for call in reversed(history.calls) if call.sent.operation == READ and call.sent.seq < change.seq)
    same = (call for call in reads if owner_of(call.sent) == owner_of(change))
    return next((call for call in same if any(row.job == change.job for row in call.reads)), None)


def _seen(history: History, read: Call, of: int) -> Event | None:
    """Return the job's state as a read saw it: in its snapshot, or, if it waited for a lock, when it went on."""
    end = read.outcome.seq if read.blocked and read.outcome is not None else (read.sent.snapshot_seq or 0) + 1
    return history.change_before(of, end)


def _finding(change: Event, before: Event, why: str, read: Call | None = None) -> Finding:
    text = (
        f"{sentence(deed(change))} changed {job(change.job)} at {moment(change.txn_time)}, when it was {_words(before)}. "
        f"{why}; {deed(before)} had made it {before.to_state or 'disappear'} since."
    )
    witness = {before.seq, change.seq} | ({read.sent.seq} if read is not None else set())
    return Finding(NAME, change.seq, change.job, tuple(sorted(witness)), text)


def _words(state: Event) -> str:
    return f"{state.to_state or 'gone'} (claim {state.generation})"
