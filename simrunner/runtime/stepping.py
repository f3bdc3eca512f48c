"""One step: what is recorded when a gate opens, and what is recorded when its outcome comes back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from simrunner.errors import ServerError
from simrunner.model.event import OBSERVER
from simrunner.model.view import LaneState
from simrunner.runtime import clock, commits, libpq, sessions
from simrunner.runtime.messages import ROUND, Intent, Outcome, Report, Returned
from simrunner.runtime.observer import Candidate
from simrunner.runtime.shortage import DISK_FULL
from simrunner.runtime.trouble import ASKED_FOR
from simrunner.runtime.world import Connection, Lane, TransactionInfo, World

READING = frozenset({"claim", "recover-read", "candidates"})
"""Operations whose returned rows are `read` events."""
REPORTING = frozenset({"count", "explain", "report"})
"""Operations whose result is a `report` event."""
LOOK_ROWS = 1000
"""A look at the queue shows at most this many ready jobs."""


def begin(world: World, lane: Lane, intent: Intent) -> None:
    """Record that a step is about to be taken."""
    on = lane.connection = lane.connections[intent.connection]
    if intent.statement is None:
        return
    if (intent.statement == "BEGIN" or _is_alone(intent)) and on.backend_pid:
        _begin_transaction(world, lane, intent)
    elif intent.operation is not None and on.begun:
        _name_transaction(world, on, intent.operation)
    if on.keeps_snapshot and on.snapshot_seq is None and intent.operation != "lock-table" and not _is_control(intent):
        on.snapshot_seq = world.recorder.last_change_seq  # its first statement takes it, but LOCK TABLE takes none
    candidates = _probe(world, lane) if intent.probes else None
    rows = len(candidates) if candidates is not None else None
    world.recorder.event("sent", **_statement_columns(world, lane, intent), rows=rows)


def begin_deferred(world: World, lane: Lane) -> None:
    """Record what happens with the step that is about to be taken, before it, where steps are coalesced."""
    deferred, lane.deferred = lane.deferred, ()
    for intent in deferred:
        begin(world, lane, intent)
        _record_outcome(world, lane, Outcome(intent, None, "", 0, (), 0))


def finish(world: World, lane: Lane, report: Report) -> None:
    """Record a step's outcome and park the actor at its next one. Raises ServerError where its statement met a full disk."""
    for outcome in report.outcomes:
        if outcome.sqlstate == DISK_FULL and outcome.message != ASKED_FOR:
            raise ServerError(f"while {lane.actor} took its step {outcome.intent.label}: {outcome.message}")
    with world.recorder.whole():
        for outcome in report.outcomes:
            _record_outcome(world, lane, outcome)
    note_sessions(world, lane, report)
    lane.pending = None
    lane.blockers = ()
    lane.intent, lane.deferred = report.intent, report.deferred
    lane.connection = lane.connections[report.intent.connection]
    lane.state = LaneState.RESTING if report.intent.label == ROUND else LaneState.PARKED


def note_sessions(world: World, lane: Lane, report: Report) -> None:
    """Record the sessions that an actor has opened since its last report."""
    if lane.process is not None and report.backends != lane.process.backends:
        sessions.begin_next(world, lane, lane.process, report.backends)


def outcome_unknown(world: World, lane: Lane) -> None:
    """Record that an actor died while its statement was under way."""
    if lane.pending is not None and lane.pending.statement is not None:
        world.recorder.event("unknown", **_statement_columns(world, lane, lane.pending))


def blocked(world: World, lane: Lane, intent: Intent, blockers: str) -> None:
    """Record that a statement waits for locks of other actors."""
    world.recorder.event("blocked", **_statement_columns(world, lane, intent), blocked_by=blockers)


def record_candidates(world: World, candidates: list[Candidate], who: dict[str, Any], txn_time: int | None) -> None:
    """Record the candidates of a claim, or of all claims of a concurrent round."""
    names = {on.backend_pid: lane.actor for lane in (*world.orphans, *world.lanes) for on in lane.connections}
    for rank, candidate in enumerate(candidates, 1):
        locker = candidate.locker_pid
        world.recorder.event(
            "probe",
            **who,
            operation="claim",
            job=world.recorder.job(candidate.job),
            rank=rank,
            blocked_by=None if locker is None else names.get(locker, "?"),
            txn_time=txn_time,
        )


def probe_round(world: World, claims: int) -> None:
    """Record the candidates with which a round begins: enough for all its claims."""
    now_us = world.recorder.now_us
    found = world.observer.candidates(clock.literal(now_us), claims * world.workload.batch + 1, 0)
    record_candidates(world, found or [], {"actor": OBSERVER}, now_us)


def look(world: World) -> None:
    """Record all ready jobs in claim order, with the actor that locks each: the skip probe of a script."""
    now_us = world.recorder.now_us
    found = world.observer.candidates(clock.literal(now_us), LOOK_ROWS, 0)
    record_candidates(world, found or [], {"actor": OBSERVER}, now_us)


def _begin_transaction(world: World, lane: Lane, intent: Intent) -> None:
    on = lane.connection
    world.txns_used += 1
    on.begun += 1
    on.txn = world.txns_used
    on.txn_time = world.recorder.now_us
    on.claimed = ()
    on.keeps_snapshot = _isolation(world, lane) != "read committed"
    on.snapshot_seq = None
    world.transactions[on.key] = TransactionInfo(
        lane.actor, lane.incarnation, on.session or 0, on.txn, intent.operation, on.txn_time
    )


def _isolation(world: World, lane: Lane) -> str:
    action = lane.order.action if lane.order is not None else None
    return (action.isolation if action is not None else None) or world.design.isolation


def _is_alone(intent: Intent) -> bool:
    """Whether it is a statement that is a transaction of its own."""
    return intent.ends and not _is_control(intent)


def _is_control(intent: Intent) -> bool:
    return intent.statement in ("BEGIN", "COMMIT", "ROLLBACK")


def _name_transaction(world: World, on: Connection, operation: str) -> None:
    """A transaction that a script began by itself is named after the operation that it turned out to run."""
    info = world.transactions.get(on.key)
    if info is not None and info.operation != operation:
        world.transactions[on.key] = replace(info, operation=operation)


def _probe(world: World, lane: Lane) -> list[Candidate] | None:
    """Record a claim's candidates, unless the claims of a concurrent round share one probe."""
    txn_time = lane.connection.txn_time
    if txn_time is None or (lane.order is not None and lane.order.barrier is not None):
        return None
    open_elsewhere = sum(1 for other in world.lanes for on in other.connections if on.txn is not None and other is not lane)
    batch = world.workload.batch
    found = world.observer.candidates(clock.literal(txn_time), batch + 1, open_elsewhere * batch)
    if found is not None:
        record_candidates(world, found, lane.who(), txn_time)
    return found


def _record_outcome(world: World, lane: Lane, outcome: Outcome) -> None:
    intent = outcome.intent
    if intent.statement is None:
        world.recorder.event(intent.label, **lane.who(), **_subject(world, intent))
        return
    columns = _statement_columns(world, lane, intent)
    if lane.state is LaneState.BLOCKED:
        world.recorder.event("freed", **columns)
    if outcome.lost:
        world.recorder.event("unknown", **columns, note=outcome.message)
        sessions.lose(world, lane, lane.connection)
        return
    if outcome.sqlstate is None:
        world.recorder.event("ok", **columns, rows=outcome.rows, duration_us=outcome.duration_us)
    else:
        world.recorder.event("failed", **columns, sqlstate=outcome.sqlstate, note=outcome.message)
    if intent.operation in READING:
        _record_returned(world, lane, intent, outcome.returned)
    if intent.operation in REPORTING and outcome.returned:
        _record_report(world, lane, intent, outcome)
    if intent.operation == "claim" and world.workload.counts_buffers and outcome.sqlstate is None and not _is_control(intent):
        buffers = None if outcome.buffers is None else str(outcome.buffers)
        world.recorder.event("report", **{**columns, "value": buffers})
    if intent.operation == "claim" and outcome.returned:
        _note_claim(world, lane, outcome.returned)
    if intent.ends:
        _end_transaction(world, lane, intent, outcome)


def _note_claim(world: World, lane: Lane, returned: tuple[Returned, ...]) -> None:
    on = lane.connection
    on.claimed = returned
    world.last_claims[lane.actor] = (lane.identity, returned[0])
    info = world.transactions.get(on.key)
    if info is not None:
        jobs = info.claimed.union(row.job for row in returned if row.job is not None)
        world.transactions[on.key] = replace(info, claimed=jobs)


def _record_returned(world: World, lane: Lane, intent: Intent, returned: tuple[Returned, ...]) -> None:
    for row in returned:
        world.recorder.event(
            "read",
            **lane.who(),
            operation=intent.operation,
            job=world.recorder.job(row.job),
            token=world.recorder.token(row.token),
            attempt=row.attempt,
            lease_until=libpq.microseconds(row.lease_until),
        )


def _record_report(world: World, lane: Lane, intent: Intent, outcome: Outcome) -> None:
    """Record each reported number, or a plan: its text depends on cost estimates and buffers, so it is only a note."""
    columns = _statement_columns(world, lane, intent)
    if intent.operation == "explain":
        plan = "\n".join(row.value or "" for row in outcome.returned)
        world.recorder.event("report", **{**columns, "value": None}, note=plan)
        return
    for row in outcome.returned:
        world.recorder.event("report", **{**columns, "value": row.value}, to_state=row.state)


def _end_transaction(world: World, lane: Lane, intent: Intent, outcome: Outcome) -> None:
    on = lane.connection
    committed = intent.statement != "ROLLBACK" and outcome.sqlstate is None
    if committed and intent.operation == "claim":
        lane.held.update(((row.job or "", row.token or ""), row) for row in on.claimed)
    if committed and intent.operation in ("complete", "fail", "release"):
        lane.held.pop((intent.job or "", intent.token or ""), None)
    if lane.order is not None and lane.order.barrier is not None:
        commits.record_until(world, on.key)
    else:
        commits.record_new(world)
    world.transactions.pop(on.key, None)
    on.end_transaction()


def _statement_columns(world: World, lane: Lane, intent: Intent) -> dict[str, Any]:
    on = lane.connection
    return {
        **lane.who(),
        **_subject(world, intent),
        "operation": intent.operation,
        "crash_point": intent.crash_point,
        "value": intent.statement,
        "snapshot_seq": (world.recorder.last_change_seq if on.snapshot_seq is None else on.snapshot_seq) or None,
        "txn_time": on.txn_time,
    }


def _subject(world: World, intent: Intent) -> dict[str, Any]:
    recorder = world.recorder
    return {"job": recorder.job(intent.job), "token": recorder.token(intent.token), "attempt": intent.attempt}
