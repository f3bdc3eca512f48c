"""The observer: candidates and who locks them, without a lock of its own; rows as jobs.sql gives them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from psycopg.pq.abc import PGconn

from simrunner.config import load_design, load_workload
from simrunner.limits import LIMITS
from simrunner.runtime import clock, libpq, observer, setup
from simrunner.runtime.database import Database
from simrunner.runtime.observer import Observer
from tests.runtime.runs import design_folder

NOW = clock.literal(setup.VIRTUAL_START_US)
LOCK = "SELECT FROM queue_jobs WHERE id = {} FOR {}"


class Watched:
    """Sessions in a database with 20 jobs of the reference design, and the observer."""

    def __init__(self, database: Database, design: str = "reference") -> None:
        self._database = database
        self._open: list[PGconn] = []
        session = self.session()
        loaded = load_design(design)
        setup.install(session, loaded, load_workload("smoke", {"jobs": "20"}))
        self.observer = Observer(session, loaded)
        self.observer.prepare()

    def session(self, *statements: str) -> PGconn:
        connection = libpq.connect(self._database.conninfo("session"))
        self._open.append(connection)
        send(connection, *statements)
        return connection

    def lockers(self, unlocked: int = 3, expected: int = 0) -> list[tuple[str, int | None]]:
        return [(job, pid) for job, pid in self.observer.candidates(NOW, unlocked, expected) or []]

    def close(self) -> None:
        for connection in self._open:
            connection.finish()


@pytest.fixture
def watched(database: Database) -> Iterator[Watched]:
    opened = Watched(database)
    yield opened
    opened.close()


def send(session: PGconn, *statements: str) -> None:
    for statement in statements:
        libpq.expect(libpq.run(session, statement), statement)


def test_candidates_come_in_claim_order(watched: Watched) -> None:
    watched.session("UPDATE queue_jobs SET priority = 5 WHERE id = 7", "UPDATE queue_jobs SET state = 'done' WHERE id = 1")
    assert watched.lockers() == [("7", None), ("2", None), ("3", None)]


def test_a_candidate_in_the_future_is_none(watched: Watched) -> None:
    watched.session("UPDATE queue_jobs SET available_at = now() + interval '1 ms' WHERE id = 1")
    assert watched.lockers(1) == [("2", None)]


@pytest.mark.parametrize("strength", ["UPDATE", "NO KEY UPDATE", "SHARE", "KEY SHARE"])
def test_a_row_lock_names_its_backend_until_its_end(watched: Watched, strength: str) -> None:
    """The row's xmax stays after the transaction: only an open one holds a lock."""
    locker = watched.session("BEGIN", LOCK.format(1, strength))
    assert watched.lockers(1, 1) == [("1", locker.backend_pid), ("2", None)]
    send(locker, "ROLLBACK")
    assert watched.lockers(1, 1) == [("1", None), ("2", None)]
    again = watched.session("BEGIN", LOCK.format(1, strength))
    assert watched.lockers(1, 1) == [("1", again.backend_pid), ("2", None)]


def test_the_lock_of_a_savepoint_names_its_backend(watched: Watched) -> None:
    """Its xmax is the sub-transaction's id, which no statistics view shows."""
    locker = watched.session("BEGIN", "SAVEPOINT s", "UPDATE queue_jobs SET payload = '' WHERE id = 1")
    assert watched.lockers(1, 1) == [("1", locker.backend_pid), ("2", None)]
    send(locker, "ROLLBACK TO s")
    assert watched.lockers(1, 1) == [("1", None), ("2", None)]


def test_the_lock_of_an_uncommitted_update(watched: Watched) -> None:
    locker = watched.session("BEGIN", "UPDATE queue_jobs SET state = 'claimed' WHERE id = 1")
    assert watched.lockers(1, 1) == [("1", locker.backend_pid), ("2", None)]
    send(locker, "COMMIT")
    assert watched.lockers(1) == [("2", None)]


def test_two_lockers_of_one_row(watched: Watched) -> None:
    """Several lockers share a multixact, whose id says nothing about transactions."""
    first = watched.session("BEGIN", LOCK.format(1, "KEY SHARE"))
    second = watched.session("BEGIN", LOCK.format(1, "KEY SHARE"))
    assert watched.lockers(1, 1)[0][1] in (first.backend_pid, second.backend_pid)
    send(first, "ROLLBACK")
    assert watched.lockers(1, 1)[0][1] == second.backend_pid
    send(second, "ROLLBACK")
    assert watched.lockers(1, 1)[0][1] is None


def test_the_limit_is_doubled_until_enough_are_free(watched: Watched) -> None:
    """Two expected, ten locked: the candidates are read until three free ones are among them."""
    locker = watched.session("BEGIN", "SELECT FROM queue_jobs WHERE id <= 10 FOR UPDATE")
    found = watched.lockers(3, 2)
    assert [pid for _, pid in found[:10]] == [locker.backend_pid] * 10
    assert [job for job, pid in found if pid is None][:3] == ["11", "12", "13"]


def test_fewer_candidates_than_asked_for(watched: Watched) -> None:
    assert len(watched.lockers(50)) == 20


def test_too_many_locked_rows_are_not_observable(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observer, "LIMITS", replace(LIMITS, probe_rows_max=8))
    watched.session("BEGIN", "SELECT FROM queue_jobs WHERE id <= 10 FOR UPDATE")
    assert watched.observer.candidates(NOW, 1, 1) is None


def test_looking_takes_no_lock(watched: Watched) -> None:
    """A claim sent right after must not wait, and must not pass over a row because of the observer."""
    watched.lockers(5)
    watched.observer.all_jobs()
    claim = watched.session("SET lock_timeout = '1s'", "BEGIN")
    reply = libpq.run(claim, "SELECT id FROM queue_jobs ORDER BY id LIMIT 3 FOR UPDATE SKIP LOCKED")
    assert [row[0] for row in reply.rows] == ["1", "2", "3"]


def test_the_image_of_a_row_is_mapped_like_the_row(watched: Watched) -> None:
    """Where two transactions are read at once, what the first one left is known from its image alone."""
    worker = watched.session(
        "UPDATE queue_jobs SET state = 'claimed', claimed_by = 'w', claim_token = 't', claimed_at = now(),"
        " lease_until = 'infinity', attempts = 2, last_error = E'quote \" and \\n' WHERE id = 3"
    )
    for row in watched.observer.all_jobs():
        image = libpq.run(worker, f"SELECT to_jsonb(q) FROM queue_jobs q WHERE id = {row.job}").rows[0][0] or ""
        assert json.loads(image)["id"] == int(row.job)
        assert watched.observer.job_of_image(image) == row
        assert watched.observer.jobs([row.job]) == {row.job: row}


def test_a_job_that_is_gone(watched: Watched) -> None:
    assert watched.observer.jobs(["1", "99"]).keys() == {"1"}


def test_descending_text_is_refused(database: Database, tmp_path: Path) -> None:
    design = design_folder(tmp_path, {}, '[promises]\norder = ["payload desc"]\n')
    jobs = (Path(load_design("reference").folder) / "jobs.sql").read_text().replace("priority,", "payload,")
    (design / "jobs.sql").write_text(jobs)
    opened = Watched(database, str(design))
    try:
        with pytest.raises(Exception, match="payload must be an integer or a timestamptz"):
            opened.observer.all_jobs()
    finally:
        opened.close()


def test_who_waits_for_whom(watched: Watched) -> None:
    holder = watched.session("BEGIN", LOCK.format(1, "UPDATE"))
    waiter = watched.session("BEGIN")
    assert watched.observer.blocking_pids(waiter.backend_pid) == []
    waiter.send_query(LOCK.format(1, "UPDATE").encode())
    waiter.flush()
    while not watched.observer.blocking_pids(waiter.backend_pid):
        pass
    assert watched.observer.blocking_pids(waiter.backend_pid) == [holder.backend_pid]
    send(holder, "ROLLBACK")
    while waiter.get_result() is not None:
        pass
    assert watched.observer.blocking_pids(waiter.backend_pid) == []


def test_alive_until_it_left(watched: Watched, database: Database) -> None:
    session = libpq.connect(database.conninfo("session"))
    pid = session.backend_pid
    assert watched.observer.is_alive(pid)
    session.finish()
    while watched.observer.is_alive(pid):
        pass
    assert not watched.observer.is_alive(pid)
