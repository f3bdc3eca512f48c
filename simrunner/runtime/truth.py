"""Committed truth, read from the database and never from what a client believed.

AFTER ROW triggers on the design's tables write one row per change to `simrunner.truth`, inside the changing transaction: a
rollback, also one to a savepoint, takes them along. The observer reads what became visible since its last look. A btree on
the transaction id makes that proportional to what is new: whatever committed since the last snapshot either was in progress
then (its xip list) or began later (its xmax); see pg_snapshot in "System Information Functions" of the PostgreSQL manual.
"""

from __future__ import annotations

from typing import NamedTuple

from psycopg.pq.abc import PGconn

from simrunner.model.design import Design
from simrunner.runtime import libpq

_INSTALL = """
CREATE SCHEMA simrunner;
CREATE TABLE simrunner.truth (
    seq bigint GENERATED ALWAYS AS IDENTITY, xid xid8 NOT NULL, pid integer NOT NULL, txn integer,
    relation text NOT NULL, op text NOT NULL, job text, new jsonb);
CREATE INDEX truth_xid ON simrunner.truth (xid);
CREATE FUNCTION simrunner.log_row() RETURNS trigger LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    image jsonb;
BEGIN
    IF current_setting('simrunner.hold', true) = 'on' THEN -- it stands still here for as long as the coordinator has the lock
        PERFORM pg_advisory_xact_lock_shared({hold});
    END IF;
    IF TG_OP = 'DELETE' THEN image := to_jsonb(OLD); ELSE image := to_jsonb(NEW); END IF;
    INSERT INTO simrunner.truth (xid, pid, txn, relation, op, job, new)
    VALUES (pg_current_xact_id(), pg_backend_pid(), nullif(current_setting('simrunner.txn', true), '')::integer,
            TG_ARGV[0], TG_OP, image ->> TG_ARGV[1], CASE WHEN TG_OP <> 'DELETE' THEN image END);
    RETURN NULL;
END $$;
CREATE FUNCTION simrunner.log_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO simrunner.truth (xid, pid, txn, relation, op)
    VALUES (pg_current_xact_id(), pg_backend_pid(), nullif(current_setting('simrunner.txn', true), '')::integer,
            TG_ARGV[0], TG_OP);
    RETURN NULL;
END $$;
"""

HOLD = "1936290162, 1"
"""The advisory lock, in two numbers, that a statement waits for which is to stand still in the middle."""

_TRIGGER = """
CREATE TRIGGER simrunner_insert_delete AFTER INSERT OR DELETE ON {table}
    FOR EACH ROW EXECUTE FUNCTION simrunner.log_row({name}, {column});
CREATE TRIGGER simrunner_update AFTER UPDATE ON {table}
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION simrunner.log_row({name}, {column});
CREATE TRIGGER simrunner_truncate AFTER TRUNCATE ON {table}
    FOR EACH STATEMENT EXECUTE FUNCTION simrunner.log_truncate({name});
"""

_READ = """
WITH now AS MATERIALIZED (SELECT pg_current_snapshot() AS snapshot)
SELECT now.snapshot::text, t.seq, t.xid::text, t.pid, t.txn, t.relation, t.op, t.job, t.new
  FROM now LEFT JOIN (
        SELECT * FROM simrunner.truth WHERE xid >= $1::xid8 AND pid <> {own}
        UNION ALL SELECT * FROM simrunner.truth WHERE xid = ANY($2::xid8[]) AND xid < $1::xid8 AND pid <> {own}) t ON true
 ORDER BY t.seq
"""


class RowChange(NamedTuple):
    """One committed row change."""

    relation: str
    op: str
    """INSERT, UPDATE, DELETE or TRUNCATE."""
    job: str | None
    image: str | None
    """The new row as JSON; None for DELETE and TRUNCATE."""


class CommittedTransaction(NamedTuple):
    """One committed transaction that changed something, its changes in the order in which they were made."""

    xid: int
    backend_pid: int
    number: int
    """Which of its session's transactions, counted by the session's own BEGINs from 1; 0: not known."""
    changes: tuple[RowChange, ...]


def install(connection: PGconn, design: Design) -> None:
    """Create schema `simrunner` and the triggers on the design's tables. Raises ServerError."""
    libpq.expect(libpq.run(connection, _INSTALL.format(hold=HOLD)), "creating the truth log")
    for table, column in watched(design):
        name, job = f"'{table}'", f"'{column}'"
        sql = _TRIGGER.format(table=libpq.quote(table), name=name, column=job)
        libpq.expect(libpq.run(connection, sql), f"watching table {table}")


def watched(design: Design) -> tuple[tuple[str, str], ...]:
    """(table, job column) of every table whose changes are truth."""
    tables = [(state.table, state.job_column) for state in design.state_tables]
    if design.effects is not None:
        tables.append((design.effects.table, design.effects.job_column))
    return tuple(tables)


class TruthReader:
    """Reads committed changes of other sessions exactly once, in commit-compatible order, from when it is made on.

    What its own session wrote is the fixture of the next run, and no news to that.
    """

    def __init__(self, connection: PGconn) -> None:
        self._connection = connection
        self._xmax = ""
        self._xip: list[str] = []
        sql = _READ.format(own=connection.backend_pid)
        libpq.expect(libpq.prepare(connection, "truth", sql), "preparing to read the truth log")
        reply = libpq.run(connection, "SELECT pg_current_snapshot()")
        self._xmax, self._xip = self._snapshot(libpq.expect(reply, "looking at the truth log"))

    def read(self) -> list[CommittedTransaction]:
        """Return what was committed since the last call; per job in the order of its row lock."""
        values = [self._xmax.encode(), libpq.array(self._xip)]
        reply = libpq.expect(libpq.run_prepared(self._connection, "truth", values), "reading the truth log")
        self._xmax, self._xip = self._snapshot(reply)
        return _transactions(reply.rows)

    @staticmethod
    def _snapshot(reply: libpq.Reply) -> tuple[str, list[str]]:
        _, xmax, running = (reply.rows[0][0] or "").split(":")
        return xmax, running.split(",") if running else []


def _transactions(rows: list[tuple[str | None, ...]]) -> list[CommittedTransaction]:
    """Group changes by transaction, ordered by each one's last change: compatible with every row lock's order."""
    changes: dict[str, list[RowChange]] = {}
    sessions: dict[str, tuple[int, int]] = {}
    last: dict[str, int] = {}
    for _, seq, xid, pid, number, relation, op, job, image in rows:
        if seq is None or xid is None or relation is None or op is None:
            continue  # the one row that carries the snapshot when nothing is new
        changes.setdefault(xid, []).append(RowChange(relation, op, job, image))
        sessions[xid], last[xid] = (int(pid or 0), int(number or 0)), int(seq)
    return [CommittedTransaction(int(xid), *sessions[xid], tuple(changes[xid])) for xid in sorted(last, key=last.__getitem__)]
