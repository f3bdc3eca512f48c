"""Faults of one statement: the server raises the error, and what it says is its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from psycopg.pq.abc import PGconn

from simrunner.model.design import Statement
from simrunner.model.tape import ERROR_AT, LOCK_TIMEOUT, LOSE_ACK, LOSE_COMMIT, STATEMENT_TIMEOUT
from simrunner.runtime import libpq, trouble
from simrunner.runtime.database import Database
from simrunner.runtime.libpq import Reply
from simrunner.runtime.messages import Trouble
from tests.faults.repeats import histories, repeated, root_causes

WORKLOAD = "failing-statements"
UPDATE = "UPDATE one SET x = x + 1"


@contextmanager
def session(database: Database) -> Iterator[PGconn]:
    connection = libpq.connect(database.conninfo("test"))
    yield connection
    connection.finish()


def ask(connection: PGconn, sql: str) -> str | None:
    reply = libpq.expect(libpq.run(connection, sql), "asking")
    return reply.rows[0][0] if reply.rows else None


def spoilt(connection: PGconn, kind: str, sqlstate: str | None = None, sql: str = UPDATE) -> Reply:
    return trouble.run(connection, Trouble(kind, sqlstate), Statement(sql, sql, (), 1), {})


def test_ten_runs_are_one_history(database: Database) -> None:
    runs = repeated(database, WORKLOAD)
    assert len(histories(runs)) == 1
    assert root_causes(runs) == {None}
    failed = [(event.operation, event.value, event.sqlstate) for event in runs[0].memory.events if event.kind == "failed"]
    assert sorted(failed, key=str) == [
        ("claim", "1", "57014"),
        ("complete", "1", "40001"),
        ("complete", "1", "55P03"),
        ("heartbeat", "1", "55P03"),
        ("heartbeat", "1", "57014"),
        ("heartbeat", "1", "XX000"),
    ]


def test_a_job_whose_completion_failed_is_worked_on_again(database: Database) -> None:
    assert root_causes(repeated(database, WORKLOAD, "mutants/effect-without-key", times=1)) == {"effect-once"}


def test_a_worker_whose_heartbeat_failed_completes_its_job(database: Database) -> None:
    events = repeated(database, WORKLOAD, times=1)[0].memory.events
    failed = [event for event in events if event.kind == "failed" and event.operation == "heartbeat"]
    for heartbeat in failed:
        following = [event for event in events[heartbeat.seq :] if event.job == heartbeat.job and event.kind == "transition"]
        assert following[0].to_state in ("done", "ready")
        assert following[0].to_state == "done" or following[0].operation == "recover"
    assert len(failed) == 3


def test_a_job_released_after_a_failed_heartbeat_is_begun_again_while_its_work_goes_on(database: Database) -> None:
    runs = repeated(database, "failing-heartbeats", "mutants/failed-heartbeat-releases", times=3)
    assert len(histories(runs)) == 1
    assert root_causes(runs) == {"effect-once"}
    events = runs[0].memory.events
    failed = [event for event in events if event.kind == "failed" and event.operation == "heartbeat"]
    assert len(failed) == 3
    for heartbeat in failed:
        about = [event for event in events if event.job == heartbeat.job]
        changes = [event for event in about if event.kind == "transition"]
        claim = next(event for event in reversed(changes) if event.seq < heartbeat.seq)
        release, again = [event for event in changes if event.seq > heartbeat.seq][:2]
        assert (release.operation, release.actor, again.operation) == ("release", heartbeat.actor, "claim")
        assert (release.txn_time or 0) < (claim.lease_until or 0)
        own = [event for event in about if event.token == heartbeat.token and event.seq > release.seq]
        assert [event.kind for event in own if event.kind == "work-end"] == ["work-end"]
        assert [event.rows for event in own if (event.kind, event.operation, event.value) == ("ok", "complete", "1")] == [0]


def test_what_the_server_says(database: Database) -> None:
    """Each message is PostgreSQL's own, and afterwards the session is as it was."""
    with session(database) as actor, session(database) as other:
        libpq.expect(libpq.run(actor, "CREATE TABLE one (x int); INSERT INTO one VALUES (0)"), "preparing")
        libpq.expect(libpq.run(other, "BEGIN; SELECT * FROM one FOR UPDATE"), "locking")
        expected = {
            (LOCK_TIMEOUT, None): ("55P03", "canceling statement due to lock timeout"),
            (STATEMENT_TIMEOUT, None): ("57014", "canceling statement due to statement timeout"),
            (ERROR_AT, "53300"): ("53300", "an error that a fault asked for"),
        }
        for begin in ("SELECT 1", "BEGIN"):
            for (kind, sqlstate), (code, message) in expected.items():
                libpq.run(actor, begin)
                reply = spoilt(actor, kind, sqlstate)
                assert (reply.sqlstate, reply.message) == (code, message)
                libpq.expect(libpq.run(actor, "ROLLBACK"), "rolling back")
                for setting in ("lock_timeout", "statement_timeout"):
                    assert ask(actor, f"SHOW {setting}") == "0"
        libpq.expect(libpq.run(other, "ROLLBACK"), "letting go")
        reply = spoilt(actor, LOCK_TIMEOUT)
        assert (reply.sqlstate, reply.affected, ask(actor, "SHOW lock_timeout")) == (None, 1, "0")


@pytest.mark.parametrize(("kind", "found"), [(LOSE_COMMIT, "0"), (LOSE_ACK, "1")])
def test_what_became_of_a_commit_without_an_answer(database: Database, kind: str, found: str) -> None:
    with session(database) as actor, session(database) as other:
        for sql in ("CREATE TABLE one (x int)", "INSERT INTO one VALUES (0)", "BEGIN", UPDATE):
            libpq.expect(libpq.run(actor, sql), "preparing")
        backend = actor.backend_pid
        reply = spoilt(actor, kind, sql="COMMIT")
        assert reply.sqlstate == libpq.LOST
        while ask(other, f"SELECT pid FROM pg_stat_activity WHERE pid = {backend}"):
            continue
        assert ask(other, "SELECT x FROM one") == found
