"""The tables of the evidence: every claim, completion, recovery, change and final row of every run. Times are virtual, in UTC."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from simrunner.analysis.names import job_name, token_name
from simrunner.checkers.wording import moment
from simrunner.history.history import History
from simrunner.history.intervals import OwnershipInterval, Transaction, owner_of
from simrunner.model.event import Event

Cell = str | int | None
Row = Sequence[Cell]


@dataclass(frozen=True, slots=True)
class Table:
    """One kind of rows, drawn from each history."""

    file: str
    header: tuple[str, ...]
    rows: Callable[[History], Iterable[Row]]


def csv_text(header: Sequence[str], rows: Iterable[Row]) -> str:
    """Return a table as comma-separated values with a header line; None is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def when(time_us: int | None) -> str | None:
    """Return a virtual time as text, None for none."""
    return None if time_us is None else moment(time_us)


def _claims(history: History) -> Iterator[Row]:
    for claim in history.claims:
        txn = history.transactions.get(claim.txn or 0)
        yield (
            job_name(history.context, claim.job),
            owner_of(claim),
            when(claim.txn_time),
            token_name(history.context, claim.token),
            claim.attempt,
            claim.generation,
            claim.from_state,
            claim.to_state,
            when(claim.lease_until),
            *_completed(txn),
        )


def _completed(txn: Transaction | None) -> tuple[Cell, ...]:
    """Where a transaction ended: how, the event and its time."""
    if txn is None or txn.end is None:
        return "not seen", None, None
    return f"{txn.end.kind} {txn.end.value or ''}".strip(), txn.end.seq, when(txn.end.virtual_time)


def _completions(history: History) -> Iterator[Row]:
    for call in history.writes:
        if call.sent.operation == "complete" and call.succeeded and call.outcome is not None:
            sent = call.sent
            yield (
                job_name(history.context, sent.job),
                owner_of(sent),
                when(sent.txn_time),
                token_name(history.context, sent.token),
                sent.attempt,
                "accepted" if call.outcome.rows else "refused",
                call.outcome.seq,
            )


def _recoveries(history: History) -> Iterator[Row]:
    for event in history.of_kind("transition"):
        if event.from_state == "claimed" and (event.operation or "").startswith("recover"):
            after = _next_claim(event, history)
            yield (
                job_name(history.context, event.job),
                event.owner,
                token_name(history.context, event.token),
                when(event.lease_until),
                when(event.txn_time),
                owner_of(event),
                event.to_state,
                event.rank,
                *_reclaim(after, history),
            )


def _reclaim(after: OwnershipInterval | None, history: History) -> Row:
    """Who claimed the job again, with which token, and when."""
    if after is None:
        return None, None, None
    return after.owner, token_name(history.context, after.token), when(after.claim.txn_time)


def _next_claim(recovery: Event, history: History) -> OwnershipInterval | None:
    intervals = history.ownership.get(recovery.job or 0, ())
    return next((one for one in intervals if one.claim.seq > recovery.seq), None)


def _changes(history: History) -> Iterator[Row]:
    for event in history.of_kind("transition"):
        yield (
            event.seq,
            job_name(history.context, event.job),
            owner_of(event),
            event.operation,
            event.attempt,
            event.generation,
            token_name(history.context, event.token),
            event.from_state,
            event.to_state,
            when(event.txn_time),
            when(event.lease_until),
        )


def _final(history: History) -> Iterator[Row]:
    for _, row in history.context.final_jobs or ():
        times = (when(row.available_at), when(row.claimed_at), when(row.lease_until), when(row.completed_at))
        yield row.job, row.key, str(row.state), row.owner, row.token, row.attempts, row.max_attempts, *times


TABLES = (
    Table(
        "claims.csv",
        (
            *("job", "worker", "claimed_at", "token", "attempt", "generation", "from_state", "to_state", "lease_until"),
            *("completed_by", "completed_seq", "completed_at"),
        ),
        _claims,
    ),
    Table("completions.csv", ("job", "worker", "sent_at", "token", "attempt", "outcome", "seq"), _completions),
    Table(
        "recoveries.csv",
        (
            *("job", "owner", "token", "expired_lease", "recovered_at", "recovered_by", "to_state", "rank"),
            *("reclaimed_by", "reclaimed_with_token", "reclaimed_at"),
        ),
        _recoveries,
    ),
    Table(
        "job-events.csv",
        (
            *("seq", "job", "worker", "operation", "attempt", "generation", "token", "from_state", "to_state"),
            *("event_at", "lease_until"),
        ),
        _changes,
    ),
    Table(
        "final-jobs.csv",
        (
            *("job", "key", "state", "owner", "token", "attempts", "max_attempts"),
            *("available_at", "claimed_at", "lease_until", "completed_at"),
        ),
        _final,
    ),
)
"""Each table has two columns before these: the run and its design."""


def whole_table(table: Table, runs: Iterable[tuple[str, str, History]]) -> str:
    """Return a table of all runs as CSV; `runs` are (run, design, history)."""
    rows = ((run, design, *row) for run, design, history in runs for row in table.rows(history))
    return csv_text(("run", "design", *table.header), rows)
