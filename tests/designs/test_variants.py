"""What the other correct designs do, operation by operation."""

from __future__ import annotations

import pytest
from psycopg.pq.abc import PGconn

from simrunner.config import load_design
from simrunner.runtime import clock, libpq
from simrunner.runtime.database import Database
from tests.designs.queue import AVAILABLE_US, Queue


def lock_only(database: Database) -> Queue:
    return Queue(database, load_design("variants/lock-only"))


def deleting(database: Database) -> Queue:
    return Queue(database, load_design("variants/delete-returning"))


def tell(connection: PGconn, statement: str) -> None:
    libpq.expect(libpq.run(connection, statement), statement)


def moves(queue: Queue, job: str) -> list[tuple[str | None, ...]]:
    return [(row["from_state"], row["to_state"], row["attempt"], row["token"]) for row in queue.run("audit") if row["job"] == job]


def test_a_job_is_the_workers_as_long_as_its_transaction_lasts(database: Database) -> None:
    queue = lock_only(database)
    other = queue.other_session()
    tell(queue.connection, "BEGIN")
    assert [queue.claim("a"), other.claim("b")] == [["1"], ["2"]]
    tell(queue.connection, "ROLLBACK")
    assert other.claim("b") == ["1"]


def test_a_claim_writes_nothing(database: Database) -> None:
    queue = lock_only(database)
    before = queue.job("1")
    queue.claim("a")
    assert queue.job("1") == before
    assert moves(queue, "1") == [(None, "ready", "0", None)]


def test_a_completion_ends_with_the_transaction(database: Database) -> None:
    queue = lock_only(database)
    for verb, state in (("ROLLBACK", "ready"), ("COMMIT", "done")):
        tell(queue.connection, "BEGIN")
        assert queue.claim("a") == ["1"]
        assert queue.run("effect", attempt=1)
        assert queue.owns("complete", "a", "1")
        tell(queue.connection, verb)
        assert queue.job("1")["state"] == state
    assert not queue.run("effect", attempt=2)
    assert not queue.owns("complete", "a", "1")
    assert moves(queue, "1")[1:] == [("ready", "done", "0", None)]


def test_a_failure_is_counted_and_goes_behind_what_is_ready(database: Database) -> None:
    queue = lock_only(database)
    queue.at(10)
    assert queue.owns("fail", "a", "1")
    assert (queue.job("1")["state"], queue.job("1")["attempts"]) == ("ready", "1")
    assert [row["job"] for row in queue.run("eligible", as_of="2026-09-22 09:00:00.010+03")][-1] == "1"
    assert queue.owns("fail", "a", "1")
    assert (queue.job("1")["state"], queue.job("1")["attempts"]) == ("failed", "2")
    assert moves(queue, "1")[1:] == [("ready", "ready", "1", None), ("ready", "failed", "2", None)]


def test_there_is_nothing_to_give_back_to_renew_or_to_recover() -> None:
    design = load_design("variants/lock-only")
    assert not [name for name in ("release", "heartbeat", "recover") if design.offers(name)]


def test_a_completion_deletes_the_row_and_the_trail_stays(database: Database) -> None:
    queue = deleting(database)
    assert queue.claim("a") == ["1"]
    assert queue.run("effect", attempt=1)
    assert queue.owns("complete", "a", "1")
    assert "1" not in [row["job"] for row in queue.run("jobs")]
    assert moves(queue, "1") == [
        (None, "ready", "0", None),
        ("ready", "claimed", "1", "a/1"),
        ("claimed", None, "1", "a/1"),
    ]
    assert not queue.run("effect", attempt=2)


def test_only_the_owner_deletes(database: Database) -> None:
    queue = deleting(database)
    queue.claim("a")
    queue.at(15_001)
    queue.run("recover")
    assert not queue.owns("complete", "a", "1")
    assert queue.claim("b", batch=24)[-1] == "1"
    assert not queue.owns("complete", "a", "1")
    assert queue.owns("complete", "b", "1")


def test_a_job_that_failed_for_good_stays(database: Database) -> None:
    queue = deleting(database)
    for _ in range(2):
        queue.claim("a", batch=24)
        assert queue.owns("fail", "a", "1")
    assert queue.job("1")["state"] == "failed"


def lapsed(database: Database, name: str) -> Queue:
    """Jobs 1 and 2 are claimed, and their leases have lapsed."""
    queue = Queue(database, load_design(name))
    assert queue.claim("a", batch=2) == ["1", "2"]
    queue.at(15_001)
    return queue


def first(queue: Queue) -> str | None:
    as_of = clock.literal(AVAILABLE_US + 60_000_000)
    return queue.run("eligible", as_of=as_of)[0]["job"]


@pytest.mark.parametrize(("name", "next_job"), [("reference", "3"), ("variants/recover-keeps-rank", "1")])
def test_a_recovered_job_goes_to_the_end_or_back_to_where_it_stood(database: Database, name: str, next_job: str) -> None:
    queue = lapsed(database, name)
    assert len(queue.run("recover")) == 2
    assert first(queue) == next_job
    job = queue.job("1")
    assert (job["state"], job["owner"], job["token"], job["lease_until"], job["attempts"]) == ("ready", None, None, None, "1")


def test_a_batch_passes_over_what_is_locked_and_the_last_pass_does_not(database: Database) -> None:
    queue = lapsed(database, "variants/batched-recovery")
    other = queue.other_session()
    tell(other.connection, "BEGIN")
    other.run("amend", job_id="1")
    assert [row["id"] for row in queue.run("recover-batch", batch=5)] == ["2"]
    assert queue.run("recover-batch", batch=5) == []
    tell(other.connection, "COMMIT")
    assert [row["id"] for row in queue.run("recover")] == ["1"]


def test_a_batch_is_as_large_as_asked(database: Database) -> None:
    queue = lapsed(database, "variants/batched-recovery")
    assert [[row["id"] for row in queue.run("recover-batch")] for _ in range(3)] == [["1"], ["2"], []]


def test_a_batch_that_uses_up_the_attempts_ends_the_job(database: Database) -> None:
    queue = lapsed(database, "variants/batched-recovery")
    queue.run("recover-batch", batch=2)
    assert sorted(queue.claim("a", batch=24), key=lambda job: int(job or 0))[:2] == ["1", "2"]
    queue.at(40_000)
    queue.run("recover-batch", batch=24)
    assert (queue.job("1")["state"], queue.job("3")["state"]) == ("failed", "ready")


def test_no_more_of_a_group_are_claimed_than_may_run(database: Database) -> None:
    queue = Queue(database, load_design("variants/limited-groups"))
    assert [queue.claim(worker) for worker in "abcde"] == [["1"], ["2"], ["3"], ["4"], []]
    assert queue.owns("complete", "b", "2")
    assert queue.claim("b") == ["6"]


@pytest.mark.parametrize(("name", "claimed"), [("variants/limited-groups", "4"), ("mutants/count-then-claim", "5")])
def test_a_claim_counts_what_another_is_about_to_commit(database: Database, name: str, claimed: str) -> None:
    """One of two odd jobs may still be claimed, and a transaction that is open has claimed it."""
    queue = Queue(database, load_design(name))
    assert [queue.claim("a"), queue.claim("b")] == [["1"], ["2"]]
    other = queue.other_session()
    tell(queue.connection, "BEGIN")
    assert queue.claim("c") == ["3"]
    tell(queue.connection, "SAVEPOINT here")
    assert other.claim("d") == ["4"]
    assert other.claim("e") == ([] if claimed == "4" else [claimed])
    tell(queue.connection, "COMMIT")
    assert queue.claim("f") == []


@pytest.mark.parametrize(
    ("ms", "name", "counts"),
    [
        (15_000, "variants/no-late-success", True),
        (15_001, "variants/no-late-success", False),
        (15_001, "mutants/late-success", True),
    ],
)
def test_a_completion_after_the_lease(database: Database, ms: int, name: str, counts: bool) -> None:
    queue = Queue(database, load_design(name))
    queue.claim("a")
    queue.at(ms)
    assert queue.owns("complete", "a", "1") == counts


def test_a_priority_is_a_head_start_of_ten_seconds(database: Database) -> None:
    queue = Queue(database, load_design("variants/ageing"))
    for job, ms in (("25", 9_999), ("26", 10_001)):
        queue.at(ms)
        queue.run("enqueue", job_id=job, priority=1)
    order = [row["job"] for row in queue.run("eligible", as_of=clock.literal(AVAILABLE_US + 20_000_000))]
    assert (order[0], order[-1]) == ("25", "26")
    queue.at(20_000)
    assert queue.claim("a", batch=1) == ["25"]


def mark(queue: Queue) -> str | None:
    return queue.send("SELECT last_value FROM queue_low_water", (), {})[0]["last_value"]


def test_the_mark_goes_to_the_oldest_job_that_has_not_ended(database: Database) -> None:
    queue = Queue(database, load_design("variants/low-water"))
    assert [queue.claim("a"), queue.claim("b"), queue.claim("c")] == [["1"], ["2"], ["3"]]
    for worker, job, expected in (("b", "2", "1"), ("a", "1", "3"), ("c", "3", "4")):
        assert queue.owns("complete", worker, job)
        queue.run("recover")
        assert mark(queue) == expected


def test_a_job_that_is_given_back_or_recovered_is_not_below_the_mark(database: Database) -> None:
    queue = Queue(database, load_design("variants/low-water"))
    assert [queue.claim("a"), queue.claim("b"), queue.claim("c")] == [["1"], ["2"], ["3"]]
    assert queue.owns("complete", "a", "1")
    queue.run("recover")
    assert queue.owns("release", "b", "2")
    assert (mark(queue), queue.claim("d")) == ("2", ["2"])
    queue.at(15_001)
    assert sorted((row["id"], row["state"]) for row in queue.run("recover")) == [("2", "failed"), ("3", "ready")]
    queue.run("recover")
    assert (mark(queue), queue.claim("e")) == ("3", ["3"])


def test_the_mark_stays_where_every_job_has_ended(database: Database) -> None:
    queue = Queue(database, load_design("variants/low-water"))
    claimed = queue.claim("a", batch=24)
    assert all(queue.owns("complete", "a", job or "") for job in claimed)
    queue.run("recover")
    assert (mark(queue), queue.claim("b")) == ("1", [])
    queue.run("enqueue", job_id="25")
    queue.run("recover")
    assert (mark(queue), queue.claim("b")) == ("25", ["25"])


def test_the_mark_does_not_pass_a_job_that_is_being_enqueued(database: Database) -> None:
    """Nobody sees it yet, and a later one is already there: moving the mark waits for it."""
    queue = Queue(database, load_design("variants/low-water"))
    claimed = queue.claim("a", batch=24)
    assert all(queue.owns("complete", "a", job or "") for job in claimed)
    other = queue.other_session()
    tell(other.connection, "BEGIN")
    other.run("enqueue", job_id="25")
    queue.run("enqueue", job_id="26")
    tell(queue.connection, "SET lock_timeout = '1ms'")
    (lock, *_) = queue.design.operations["recover"].statements
    assert libpq.run(queue.connection, lock.sent).sqlstate == "55P03"
    tell(other.connection, "COMMIT")
    queue.run("recover")
    assert (mark(queue), queue.claim("b")) == ("25", ["25"])
