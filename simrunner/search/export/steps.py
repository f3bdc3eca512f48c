"""From a history to the steps of a script: every statement that was sent, every kill, in order, up to the violation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from simrunner.analysis.names import job_name, token_name
from simrunner.errors import InputError
from simrunner.history.context import Context
from simrunner.model.design import Design
from simrunner.model.event import Event
from simrunner.model.tape import KILL, PAUSE, UNPLANNED
from simrunner.model.workload import Workload
from simrunner.search.export import clock
from simrunner.search.export.literals import Values, filled, forms
from simrunner.search.export.script import Step

CONTROL = frozenset({"COMMIT", "ROLLBACK"})
_OF_A_ROW = frozenset({"job_id", "attempt"})
"""Parameters that a statement may take from the row that the one before returned."""
_TRACES = frozenset({"transition", "renewal", "effect"})
_ENDS = (KILL, UNPLANNED, "barrier-stuck")
"""Faults that end a session."""
_ONLY_ORDER = (PAUSE, f"end of {PAUSE}")
"""Faults that only change who goes when."""


class Steps:
    """Puts the steps of one history together."""

    def __init__(self, design: Design, workload: Workload, events: Sequence[Event], context: Context) -> None:
        self._design = design
        self._workload = workload
        self._events = events
        self._context = context
        self._claimers = {event.token: _who(event) for event in reversed(events) if _is_claim(event)}
        self._reads = _reads_by_statement(events)
        self._begun: dict[int, Event] = {}
        self._open: dict[int, Step] = {}
        """The last step of each session that has a transaction open."""
        self._rows: dict[int, int] = {}
        self.steps: list[Step] = []

    def take(self, event: Event) -> None:
        """Take the next event."""
        session = event.session or 0
        if event.kind == "sent" and event.value == "BEGIN":
            self._begun[session] = event
        elif event.kind == "sent":
            self._send(event, session)
        elif event.kind == "fault":
            self._strike(event, session)
        elif event.kind == "blocked" and session in self._open:
            self._open[session].blocked_by = event.blocked_by
        elif event.kind == "ok" and session in self._open:
            self._rows[session] = event.rows or 0
        elif event.kind in _TRACES and self.steps:
            self._note(event)

    def _send(self, event: Event, session: int) -> None:
        begun = self._begun.pop(session, None)
        sql, fed = (event.value, {}) if event.value in CONTROL else self._statement(event, session)
        step = Step(len(self.steps) + 1, _who(event), _title(event), sql, fed)
        step.begins_at = None if begun is None else clock.moment(begun.txn_time or 0)
        owner = self._claimers.get(event.token)
        if owner not in (None, step.session):
            step.notes.append(f"written in the name of {owner}")
        if self._design.uses_statement_clock and event.value not in CONTROL:
            step.said_at = clock.moment(event.virtual_time or 0)
        self.steps.append(step)
        if event.value in CONTROL:
            self._open.pop(session, None)
        else:
            self._open[session] = step

    def _strike(self, event: Event, session: int) -> None:
        if event.value in _ENDS:
            self._kill(event, session)
        elif event.value not in _ONLY_ORDER:
            raise InputError(f"holds the fault {event.value}, which cannot be exported: replay it instead")

    def _kill(self, event: Event, session: int) -> None:
        self._begun.pop(session, None)
        was_open = self._open.pop(session, None)
        if all(step.session != _who(event) for step in self.steps):
            return  # nothing that it did is told
        step = Step(len(self.steps) + 1, _who(event), "KILLED", None, in_transaction=was_open is not None)
        if was_open is not None and self._is_waiting(event):
            step.blocked_by = was_open.blocked_by
        self.steps.append(step)

    def _is_waiting(self, fault: Event) -> bool:
        own = [event for event in self._events[: fault.seq] if event.session == fault.session and event.kind in ("blocked", "ok")]
        return bool(own) and own[-1].kind == "blocked"

    def _note(self, event: Event) -> None:
        own = (step for step in reversed(self.steps) if step.session == _who(event))
        next(own, self.steps[-1]).notes.append(_trace(event, self._context))

    def _statement(self, event: Event, session: int) -> tuple[str, dict[str, str]]:
        operation = event.operation or ""
        source = self._design.operations.get(operation)
        if source is None:
            raise InputError(f"holds {operation}, an action that simrunner builds itself; scripted runs cannot be exported")
        statement = source.statements[int(event.value or 1) - 1]
        values = self._values(event, operation)
        fed = [name for name in statement.parameters if name in _OF_A_ROW and (operation == "claim" or values.get(name) is None)]
        row_values = {**values, **self._fed(event, values)} if fed else values
        if fed and self._rows.get(session) == 1:
            return filled(statement, operation, row_values, fed), forms(statement, operation, row_values, fed)
        return filled(statement, operation, row_values), {}

    def _fed(self, event: Event, values: Values) -> Values:
        """What the row before must have held: the job that it named, and the attempt of the row that the statement returned."""
        read = self._reads.get(event.seq)
        attempt = values.get("attempt")
        return {"job_id": values.get("job_id"), "attempt": read.attempt if attempt is None and read is not None else attempt}

    def _values(self, event: Event, operation: str) -> Values:
        workload, job = self._workload, job_name(self._context, event.job)
        return {
            "worker_id": _who(event) if operation == "claim" else self._claimers.get(event.token, _who(event)),
            "token": token_name(self._context, event.token),
            "job_id": job,
            "attempt": event.attempt,
            "client_now": clock.moment(event.virtual_time or 0),
            "key": f"job-{job}" if operation == "enqueue" else job,
            "batch": workload.batch,
            "lease_ms": workload.lease_ms,
            "retry_delay_ms": workload.retry_delay_ms,
            "max_attempts": workload.max_attempts,
            "error": "synthetic failure",
            "priority": _producer_priority(event.actor or "", workload) if operation == "enqueue" else 0,
            "payload": None if job is None else workload.payload(job),
        }


def _who(event: Event) -> str:
    return f"{event.actor}.{event.incarnation}"


def _is_claim(event: Event) -> bool:
    return event.kind == "sent" and event.operation == "claim" and event.token is not None


def _reads_by_statement(events: Sequence[Event]) -> dict[int, Event]:
    """By the seq of a `sent`: the first row that the statement returned."""
    found: dict[int, Event] = {}
    last_sent: dict[int | None, Event] = {}
    for event in events:
        if event.kind == "sent":
            last_sent[event.session] = event
        elif event.kind == "read" and event.session in last_sent:
            found.setdefault(last_sent[event.session].seq, event)
    return found


def _title(event: Event) -> str:
    if event.value in CONTROL:
        return event.value or ""
    return (event.operation or "") if event.value == "1" else f"{event.operation} {event.value}"


def _trace(event: Event, context: Context) -> str:
    job = job_name(context, event.job)
    if event.kind == "transition":
        claimed = f" by {event.owner} with token {token_name(context, event.token)}" if event.to_state == "claimed" else ""
        return f"job {job}: {event.from_state or 'new'} -> {event.to_state or 'gone'}{claimed}"
    return f"effect of job {job}" if event.kind == "effect" else f"job {job}: {event.value or 'its row'} changed"


def _producer_priority(actor: str, workload: Workload) -> int:
    number = int(actor.partition("-")[2] or 1)
    return workload.actors.producers[number - 1].priority


def kept(events: Sequence[Event], last_seq: int, needed: frozenset[int]) -> Iterator[Event]:
    """Yield the events up to the last one that matters, without transactions that found nothing and held nobody up.

    Those of the last round stay if `needed` (seqs; for membership tests only) holds none: then what nobody did is the point.
    """
    idle = _idle_transactions(events[:last_seq], needed)
    final = events[last_seq - 1].round if not needed else None
    for event in events[:last_seq]:
        if event.txn is None or event.txn not in idle or (final is not None and event.round == final):
            yield event


def _idle_transactions(events: Sequence[Event], needed: frozenset[int]) -> frozenset[int]:
    """Transactions of which no statement returned or changed a row, waited, failed or was cut off. For membership tests only."""
    everything = {event.txn for event in events if event.txn is not None}
    busy = {event.txn for event in events if event.seq in needed or _does_something(event)}
    return frozenset(txn for txn in everything if txn is not None and txn not in busy)


def _does_something(event: Event) -> bool:
    return bool(event.kind == "ok" and event.rows) or event.kind in (*_TRACES, "fault", "blocked", "failed", "unknown")
