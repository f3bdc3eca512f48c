"""Committed truth: what the triggers log, and what a reader makes of it: every committed change once, nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from psycopg.pq.abc import PGconn

from simrunner.config import load_design, load_workload
from simrunner.runtime import libpq, setup
from simrunner.runtime.database import Database
from simrunner.runtime.truth import CommittedTransaction, TruthReader


class Sessions:
    """Sessions in a database with the reference design, and a reader of what they commit."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._open: list[PGconn] = []
        observer = self.session()
        setup.install(observer, load_design("reference"), load_workload("smoke", {"jobs": "5"}))
        self.reader = TruthReader(observer)

    def session(self) -> PGconn:
        self._open.append(libpq.connect(self._database.conninfo("session")))
        return self._open[-1]

    def close(self) -> None:
        for connection in self._open:
            connection.finish()


@pytest.fixture
def sessions(database: Database) -> Iterator[Sessions]:
    opened = Sessions(database)
    yield opened
    opened.close()


def send(session: PGconn, *statements: str) -> None:
    for statement in statements:
        libpq.expect(libpq.run(session, statement), statement)


def changes(read: list[CommittedTransaction]) -> list[list[tuple[str, str, str | None]]]:
    """(relation, operation, job) of each transaction, without the audit trail's."""
    return [[(change.relation, change.op, change.job) for change in one.changes] for one in read]


def claim(job: int, who: str = "me") -> str:
    return f"UPDATE queue_jobs SET claimed_by = '{who}' WHERE id = {job}"


def test_the_fixture_is_not_a_change(sessions: Sessions) -> None:
    assert sessions.reader.read() == []


def test_a_commit_is_read_once_with_session_and_number(sessions: Sessions) -> None:
    worker = sessions.session()
    send(worker, "SET simrunner.txn = 7", "BEGIN", claim(1))
    assert sessions.reader.read() == []
    send(worker, "COMMIT")
    (read,) = sessions.reader.read()
    assert (read.backend_pid, read.number) == (worker.backend_pid, 7)
    assert changes([read]) == [[("queue_jobs", "UPDATE", "1")]]
    assert '"claimed_by": "me"' in (read.changes[0].image or "")
    assert sessions.reader.read() == []


def test_a_rollback_leaves_nothing(sessions: Sessions) -> None:
    send(sessions.session(), "BEGIN", claim(1), "ROLLBACK")
    assert sessions.reader.read() == []


def test_a_rollback_to_a_savepoint_takes_its_part_along(sessions: Sessions) -> None:
    send(sessions.session(), "BEGIN", claim(1), "SAVEPOINT s", claim(2), "ROLLBACK TO s", claim(3), "COMMIT")
    assert changes(sessions.reader.read()) == [[("queue_jobs", "UPDATE", "1"), ("queue_jobs", "UPDATE", "3")]]


def test_a_released_savepoint_belongs_to_its_transaction(sessions: Sessions) -> None:
    send(sessions.session(), "BEGIN", "SAVEPOINT s", claim(2), "RELEASE s", "COMMIT")
    assert changes(sessions.reader.read()) == [[("queue_jobs", "UPDATE", "2")]]


def test_an_update_without_a_change_is_none(sessions: Sessions) -> None:
    send(sessions.session(), "UPDATE queue_jobs SET state = state")
    assert sessions.reader.read() == []


def test_insert_and_delete(sessions: Sessions) -> None:
    worker = sessions.session()
    values = "(id, payload, state, available_at, created_at, max_attempts) VALUES (9, '', 'ready', now(), now(), 1)"
    insert = f"INSERT INTO queue_jobs {values}"
    send(worker, insert, "DELETE FROM job_events WHERE job_id = 9", "DELETE FROM queue_jobs WHERE id = 9")
    assert changes(sessions.reader.read()) == [[("queue_jobs", "INSERT", "9")], [("queue_jobs", "DELETE", "9")]]


def test_an_insert_that_conflicts_is_none(sessions: Sessions) -> None:
    effect = "INSERT INTO synthetic_effects VALUES (1, 'me', 1) ON CONFLICT DO NOTHING"
    send(sessions.session(), effect, effect)
    assert changes(sessions.reader.read()) == [[("synthetic_effects", "INSERT", "1")]]


def test_truncate_is_one_change(sessions: Sessions) -> None:
    send(sessions.session(), "TRUNCATE queue_jobs CASCADE")
    (read,) = changes(sessions.reader.read())
    assert ("queue_jobs", "TRUNCATE", None) in read


def test_a_transaction_that_outlasts_others_is_read_once_and_last(sessions: Sessions) -> None:
    """Its row was logged before theirs, with a smaller transaction id: a reader that only looks ahead would miss it."""
    slow, quick = sessions.session(), sessions.session()
    send(slow, "BEGIN", claim(1))
    found = []
    for job in (2, 3):
        send(quick, claim(job))
        found.append(changes(sessions.reader.read()))
    send(slow, "COMMIT")
    found.append(changes(sessions.reader.read()))
    send(quick, claim(4))
    found.append(changes(sessions.reader.read()))
    assert found == [[[("queue_jobs", "UPDATE", str(job))]] for job in (2, 3, 1, 4)]
    assert sessions.reader.read() == []


def test_a_transaction_that_began_before_the_first_look_is_read(sessions: Sessions, database: Database) -> None:
    early = sessions.session()
    send(early, "BEGIN", claim(1))
    late = TruthReader(sessions.session())
    send(early, "COMMIT")
    assert changes(late.read()) == [[("queue_jobs", "UPDATE", "1")]]


def test_several_jobs_of_one_transaction_stay_together_in_order(sessions: Sessions) -> None:
    send(sessions.session(), "BEGIN", claim(4), claim(2), claim(4, "you"), "COMMIT")
    (read,) = changes(sessions.reader.read())
    assert [job for _, _, job in read] == ["4", "2", "4"]


def test_one_job_is_in_the_order_of_its_row_locks(sessions: Sessions) -> None:
    """The transaction with the larger id gets the row first; what is read in one go must still say so."""
    older, newer = sessions.session(), sessions.session()
    send(older, "BEGIN", claim(5))  # has its transaction id
    send(newer, "BEGIN", claim(1, "newer"), "COMMIT")
    send(older, claim(1, "older"), "COMMIT")
    read = sessions.reader.read()
    assert read[0].xid > read[1].xid
    assert [change.image for one in read for change in one.changes if change.job == "1"][-1:] == [read[1].changes[-1].image]
    assert '"older"' in (read[1].changes[-1].image or "")
