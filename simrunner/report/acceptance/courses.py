"""Tables about the course of an experiment: claims against ranks, snapshots of waiting jobs, and what happened in order."""

from __future__ import annotations

from collections.abc import Iterator

from simrunner.analysis.names import job_name, token_name
from simrunner.history.attempts import ClaimAttempt
from simrunner.history.history import History
from simrunner.history.intervals import owner_of
from simrunner.model.event import OBSERVER, Event
from simrunner.report.acceptance.tables import Row, Table, when


def _ordering(history: History) -> Iterator[Row]:
    """One row for each job that a claim took, with its rank just before and the jobs that were expected."""
    for number, attempt in enumerate(history.attempts, 1):
        ranks = {probe.job: probe.rank for probe in attempt.candidates}
        for job in attempt.taken or [None]:
            yield (
                number,
                attempt.sent.round,
                owner_of(attempt.sent),
                token_name(history.context, attempt.sent.token),
                job_name(history.context, job),
                ranks.get(job),
                _expected(attempt, history),
                "committed" if attempt.committed else "not committed",
            )


def _expected(attempt: ClaimAttempt, history: History) -> str:
    """The highest-ranked free candidates: as many as it took, or as its round did."""
    size = max(1, len(attempt.taken))
    if history.context.mode == "rounds":
        size = max(1, sum(len(one.taken) for one in history.attempts if one.sent.round == attempt.sent.round))
    return " ".join(job_name(history.context, probe.job) or "" for probe in attempt.free[:size])


def _starvation(history: History) -> Iterator[Row]:
    """Every skip-probe snapshot row by row, and the claims and the ends of transactions between them."""
    snapshot = 0
    last: tuple[str, int | None] | None = None
    for event in history.events:
        if event.kind == "probe" and event.actor == OBSERVER:
            snapshot += last != (event.phase, event.round)
            last = event.phase, event.round
            yield snapshot, event.round, "ready", job_name(history.context, event.job), event.rank, event.blocked_by, None
        elif event.kind == "transition" and event.to_state in ("claimed", "ready"):
            yield snapshot, event.round, event.to_state, job_name(history.context, event.job), event.rank, None, owner_of(event)
        elif event.kind == "ok" and event.value in ("COMMIT", "ROLLBACK"):
            yield snapshot, event.round, event.value, None, None, None, owner_of(event)


_SHOWN = frozenset({"transition", "effect", "fault", "process-start", "backend-gone", "clock", "blocked", "freed", "failed"})


def _timeline(history: History) -> Iterator[Row]:
    """What happened, in order: every write and what it changed, crashes, waits and the clock."""
    for event in history.events:
        if event.kind in _SHOWN or _is_outcome(event):
            yield (
                event.seq,
                event.round,
                when(event.virtual_time),
                owner_of(event),
                event.kind,
                event.operation,
                event.value,
                job_name(history.context, event.job),
                token_name(history.context, event.token),
                event.attempt,
                event.from_state,
                event.to_state,
                when(event.lease_until),
                event.rows,
                event.sqlstate,
                event.blocked_by,
            )


def _is_outcome(event: Event) -> bool:
    return event.kind == "ok" and event.value != "BEGIN"


ORDERING = Table(
    "experiment-ordering.csv",
    ("claim", "round", "worker", "token", "job", "rank_before", "expected", "transaction"),
    _ordering,
)
STARVATION = Table(
    "experiment-starvation.csv",
    ("snapshot", "round", "what", "job", "rank", "locked_by", "actor"),
    _starvation,
)
_TIMELINE = (
    *("seq", "round", "virtual_time", "actor", "event", "operation", "statement", "job", "token", "attempt"),
    *("from_state", "to_state", "lease_until", "rows", "sqlstate", "blocked_by"),
)
COURSES = {
    table.file: table
    for table in (
        ORDERING,
        STARVATION,
        Table("experiment-abandoned-claim.csv", _TIMELINE, _timeline),
        Table("experiment-duplicate-effect.csv", _TIMELINE, _timeline),
    )
}
"""The table of an experiment that has one, by its file."""
