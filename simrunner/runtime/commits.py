"""Records what was committed: reads new truth and turns each changed job into a transition or renewal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from simrunner.model.event import OBSERVER, SERVER
from simrunner.model.job import JobRow
from simrunner.runtime.committed import Change, order_text
from simrunner.runtime.truth import CommittedTransaction, RowChange
from simrunner.runtime.world import TransactionInfo, World

SEED_COHORT = "original"


def record_new(world: World) -> None:
    """Read what was committed since the last look and record it."""
    read_new(world)
    record_until(world, None)


def read_new(world: World) -> None:
    """Read what was committed since the last look; it is recorded by `record_until`."""
    world.unread += world.truth.read()


def record_until(world: World, last: tuple[int, int] | None) -> None:
    """Record the unread transaction of a (backend pid, number in its session) and those that came before it in a row; None: all.

    If that one changed nothing, nothing is recorded: the others are recorded when their own end is.
    """
    keys = [(transaction.backend_pid, transaction.number) for transaction in world.unread]
    if last is not None and last not in keys:
        return
    places = range(len(keys)) if last is None else _before_in_a_row(world.unread, keys.index(last))
    batch = [world.unread[place] for place in places]
    world.unread = [transaction for place, transaction in enumerate(world.unread) if place not in places]
    current = _current_rows(world, batch) if last is None and len(batch) == 1 else None
    with world.recorder.whole():
        for transaction in batch:
            _record(world, transaction, current)


def record_restored(world: World) -> None:
    """Read the whole state after a crash of the server, and record each job that is no longer as it was committed."""
    world.unread.clear()
    rows = {row.job: row for row in world.observer.all_jobs()}
    for job in (*world.committed.rows, *sorted(rows.keys() - world.committed.rows.keys(), key=lambda job: (len(job), job))):
        if world.committed.rows.get(job) != rows.get(job):
            _record_job(world, world.committed.restore(job, rows.get(job)), {"actor": SERVER})


def job_columns(world: World, change: Change) -> dict[str, Any]:
    """The job columns of an event, as docs/events.md defines them."""
    row = change.new or change.old
    if row is None:
        return {"job": world.recorder.job(change.job), "generation": change.generation}
    owner_row = change.old if change.ends_claim and change.old is not None else row
    recorder = world.recorder
    return {
        "job": recorder.job(change.job),
        "cohort": SEED_COHORT if change.job in world.cohort else None,
        "generation": change.generation,
        "attempt": row.attempts,
        "token": recorder.token(owner_row.token),
        "key": recorder.key(row.key),
        "group": row.group,
        "to_state": change.new.state.value if change.new else None,
        "owner": owner_row.owner,
        "held": int(change.new.held) if change.new else None,
        "lease_until": owner_row.lease_until,
        "available_at": row.available_at,
        "order_key": order_text(row) if change.new else None,
        "rank": change.rank,
    }


def _before_in_a_row(unread: Sequence[CommittedTransaction], place: int) -> list[int]:
    """Places of a transaction and of those before it that changed one of its jobs, directly or through others, in order.

    A change without a job (TRUNCATE) concerns every job.
    """
    jobs = {change.job for change in unread[place].changes}
    places = [place]
    for earlier in reversed(range(place)):
        others = {change.job for change in unread[earlier].changes}
        if None in jobs | others or not jobs.isdisjoint(others):
            jobs |= others
            places.insert(0, earlier)
    return places


def _record(world: World, transaction: CommittedTransaction, current: dict[str, JobRow] | None) -> None:
    info = world.transactions.pop((transaction.backend_pid, transaction.number), None)
    who, claimed = _who(transaction, info), info.claimed if info else frozenset()
    state_tables = {state.table for state in world.design.state_tables}
    changes = [change for change in transaction.changes if change.relation in state_tables]
    jobs = _last_changes(changes)
    if any(change.op == "TRUNCATE" for change in changes):
        jobs = {**dict.fromkeys(world.committed.rows), **jobs}
        current = {row.job: row for row in world.observer.all_jobs()}
    for job, change in jobs.items():
        row = _row(world, job, change) if current is None else current.get(job)
        _record_job(world, world.committed.apply(job, row, claimed=job in claimed), who)
    for change in transaction.changes:
        if world.design.effects is not None and change.relation == world.design.effects.table and change.op == "INSERT":
            _record_effect(world, change, who)


def _record_job(world: World, change: Change, who: dict[str, Any]) -> None:
    columns = job_columns(world, change)
    if change.is_transition:
        old = change.old.state.value if change.old else None
        world.recorder.change("transition", **who, **columns, from_state=old)
    else:
        world.recorder.change("renewal", **who, **columns, value=",".join(change.changed))


def _record_effect(world: World, change: RowChange, who: dict[str, Any]) -> None:
    table = world.design.effects
    if table is None:
        return
    image = json.loads(change.image or "{}")
    attempt = image.get(table.attempt_column) if table.attempt_column else None
    key = image.get(table.key_column)
    world.recorder.change(
        "effect",
        **who,
        job=world.recorder.job(change.job),
        key=world.recorder.key(None if key is None else str(key)),
        attempt=attempt,
    )


def _last_changes(changes: Iterable[RowChange]) -> dict[str, RowChange | None]:
    """The last change of each job, jobs in order of their first."""
    last: dict[str, RowChange | None] = {}
    for change in changes:
        if change.job is not None:
            last[change.job] = change
    return last


def _current_rows(world: World, batch: Sequence[CommittedTransaction]) -> dict[str, JobRow]:
    """Canonical rows of the jobs that one transaction changed: nobody else has moved since."""
    state_tables = {state.table for state in world.design.state_tables}
    changes = (change for transaction in batch for change in transaction.changes if change.relation in state_tables)
    ids = list(_last_changes(changes))
    return world.observer.jobs(ids) if ids else {}


def _row(world: World, job: str, change: RowChange | None) -> JobRow | None:
    """Canonical row of a job as one of several transactions left it, from the row's image."""
    if change is None or change.image is None:
        return None
    return world.observer.job_of_image(change.image)


def _who(transaction: CommittedTransaction, info: TransactionInfo | None) -> dict[str, Any]:
    if info is None:
        return {"actor": OBSERVER, "xid": transaction.xid, "backend_pid": transaction.backend_pid}
    return {
        "actor": info.actor,
        "incarnation": info.incarnation,
        "session": info.session,
        "txn": info.txn,
        "operation": info.operation,
        "txn_time": info.txn_time,
        "xid": transaction.xid,
        "backend_pid": transaction.backend_pid,
    }
