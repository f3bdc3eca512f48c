"""serialization-retried: what ended with a serialization failure is tried again, and does not fail so again and again.

PostgreSQL expects it of the application: https://www.postgresql.org/docs/18/mvcc-serialization-failure-handling.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from simrunner.checkers.wording import judged
from simrunner.history.history import History
from simrunner.history.intervals import Call, owner_of
from simrunner.model.event import Event
from simrunner.model.verdict import Finding, Judgement

NAME = "serialization-retried"

SERIALIZATION_FAILURE = "40001"
IN_A_ROW = 3
"""So many serialization failures of one actor's operation without a commit in between are a livelock, not bad luck."""

_Tries = dict[tuple[str | None, str | None], list[Call]]


def check(history: History) -> Judgement:
    """Judge every statement that ended with a serialization failure: each had to be tried again."""
    tries = _tries(history)
    failures = [call for own in tries.values() for call in own if _failure(call) is not None]
    found = [finding for own in tries.values() for finding in (*_given_up(own, history), *_again_and_again(own))]
    return judged(len(failures), found)


def _tries(history: History) -> _Tries:
    """The statements of each actor's operation, in order."""
    found: _Tries = {}
    for call in history.calls:
        found.setdefault((call.sent.actor, call.sent.operation), []).append(call)
    return found


def _failure(call: Call) -> Event | None:
    return call.outcome if call.outcome is not None and call.outcome.sqlstate == SERIALIZATION_FAILURE else None


def _given_up(tries: Sequence[Call], history: History) -> Iterator[Finding]:
    """Find the last failure, if no try follows although the actor lived and the run went on."""
    last = next((failed for call in reversed(tries) if (failed := _failure(call)) is not None), None)
    if last is None or not history.context.completed or not _could_go_on(last, history):
        return
    if not any(call.sent.seq > last.seq and call.sent.value == "1" for call in tries):
        text = (
            f"The {last.operation} of {owner_of(last)} ended with a serialization failure ({last.sqlstate}) at event {last.seq} "
            "and was not tried again."
        )
        yield Finding(NAME, last.seq, last.job, (last.seq,), text)


def _could_go_on(failed: Event, history: History) -> bool:
    start_end = history.lives.get(owner_of(failed))
    killed = start_end is not None and start_end[1] is not None and start_end[1].value != "exit"
    later = any(event.round is not None and event.round > (failed.round or 0) for event in history.events[failed.seq :])
    return later and not killed


def _again_and_again(tries: Sequence[Call]) -> Iterator[Finding]:
    row: list[int] = []
    for call in tries:
        failed = _failure(call)
        if failed is not None:
            row.append(failed.seq)
            if len(row) == IN_A_ROW:
                text = f"The {failed.operation} of {failed.actor} ended with a serialization failure {IN_A_ROW} times in a row."
                yield Finding(NAME, failed.seq, failed.job, tuple(row), text)
        elif call.sent.value == "COMMIT" and call.succeeded:
            row.clear()
