"""What the reference design does, operation by operation."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from simrunner.config import load_design
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.database import create
from tests.designs.queue import Queue

OWNED = ("owner", "token", "claimed_at", "lease_until")


@pytest.fixture(scope="module")
def installed(cluster: Cluster) -> Iterator[Queue]:
    with create(cluster, "reference") as database:
        yield Queue(database, load_design("reference"))


@pytest.fixture
def queue(installed: Queue) -> Queue:
    installed.reset()
    return installed


def states(queue: Queue, job: str) -> list[tuple[str | None, ...]]:
    return [(row["from_state"], row["to_state"], row["attempt"], row["token"]) for row in queue.run("audit") if row["job"] == job]


def test_the_seed_is_claimed_in_order(queue: Queue) -> None:
    assert [queue.claim("a") for _ in range(3)] == [["1"], ["2"], ["3"]]
    assert [row["job"] for row in queue.run("eligible")] == [str(job) for job in range(4, 25)]


def test_nothing_is_claimed_before_it_is_available(queue: Queue) -> None:
    queue.at(-1)
    assert queue.claim("a") == []
    queue.at(0)
    assert queue.claim("a") == ["1"]


def test_priority_comes_first(queue: Queue) -> None:
    queue.run("enqueue", job_id="100", priority=1)
    queue.run("enqueue", job_id="99", priority=-1)
    assert queue.claim("a") == ["100"]
    assert [row["job"] for row in queue.run("eligible")][-1] == "99"


def test_the_backlog_stands_behind_the_seed_and_before_later_jobs(queue: Queue) -> None:
    queue.run("backlog", first_job=25, jobs=1000)
    queue.at(1)
    queue.run("enqueue", job_id="2000")
    order = [row["job"] for row in queue.run("eligible", as_of="2026-09-22 09:00:00.001+03")]
    assert order == [*(str(job) for job in range(1, 1025)), "2000"]


def test_a_batch_takes_as_many_as_asked(queue: Queue) -> None:
    assert sorted(map(int, filter(None, queue.claim("a", batch=3)))) == [1, 2, 3]


def test_a_locked_job_is_passed_over(queue: Queue) -> None:
    other = queue.other_session()
    queue.connection.exec_(b"BEGIN")
    assert queue.claim("a") == ["1"]
    assert other.claim("b") == ["2"]
    queue.connection.exec_(b"ROLLBACK")
    assert other.claim("b") == ["1"]
    assert states(queue, "1") == [(None, "ready", "0", None), ("ready", "claimed", "1", "b/1")]
    other.connection.finish()


@pytest.mark.parametrize("operation", ["complete", "fail", "release", "heartbeat"])
@pytest.mark.parametrize("when", ["recovered", "taken by another", "never claimed", "already done"])
def test_who_does_not_own_the_job_is_refused(queue: Queue, operation: str, when: str) -> None:
    if when != "never claimed":
        queue.claim("a")
    if when == "already done":
        queue.owns("complete", "a", "1")
    if when in ("recovered", "taken by another"):
        queue.at(15_001)
        queue.run("recover")
    if when == "taken by another":
        queue.claim("b", batch=24)
    before = queue.job("1")
    assert not queue.owns(operation, "a", "1")
    assert queue.job("1") == before


@pytest.mark.parametrize("operation", ["complete", "fail", "release", "heartbeat"])
def test_a_lapsed_claim_that_nobody_recovered_still_counts(queue: Queue, operation: str) -> None:
    queue.claim("a")
    queue.at(1_000_000)
    assert queue.owns(operation, "a", "1")


def test_a_completed_job_keeps_who_did_it(queue: Queue) -> None:
    queue.claim("a")
    queue.owns("complete", "a", "1")
    job = queue.job("1")
    assert (job["state"], job["owner"], job["token"], job["lease_until"]) == ("done", "a", "a/1", None)
    assert job["completed_at"] is not None


def test_recovery_waits_until_the_lease_lies_in_the_past(queue: Queue) -> None:
    queue.claim("a")
    queue.at(15_000)
    assert queue.run("recover") == []
    queue.at(15_001)
    assert queue.run("recover") == [{"id": "1", "state": "ready", "attempts": "1"}]
    job = queue.job("1")
    assert [job[column] for column in OWNED] == [None] * 4
    assert (job["attempts"], job["available_at"]) == ("1", "2026-09-22 06:00:15.001+00")
    assert [row["job"] for row in queue.run("eligible", as_of="2026-09-22 07:00:00+00")][-1] == "1"
    assert states(queue, "1")[1:] == [("ready", "claimed", "1", "a/1"), ("claimed", "ready", "1", "a/1")]


def test_a_renewed_lease_puts_recovery_off_and_is_no_event(queue: Queue) -> None:
    queue.claim("a")
    queue.at(10_000)
    assert queue.owns("heartbeat", "a", "1")
    queue.at(20_000)
    assert queue.run("recover") == []
    assert len(states(queue, "1")) == 2


@pytest.mark.parametrize("how", ["recover", "fail", "release"])
def test_a_job_without_attempts_left_is_failed(queue: Queue, how: str) -> None:
    for attempt, state in ((1, "ready"), (2, "failed")):
        queue.at(attempt * 100_000)
        queue.claim("a", batch=24)
        queue.at(attempt * 100_000 + 15_001)
        assert queue.run("recover") if how == "recover" else queue.owns(how, "a", "1")
        job = queue.job("1")
        assert (job["state"], job["attempts"], [job[column] for column in OWNED]) == (state, str(attempt), [None] * 4)


def test_a_retry_waits_for_its_delay(queue: Queue) -> None:
    queue.claim("a")
    queue.owns("fail", "a", "1", retry_delay_ms=1500, error="no luck")
    assert queue.job("1")["available_at"] == "2026-09-22 06:00:01.5+00"
    queue.at(1499)
    assert "1" not in queue.claim("b", batch=24)
    queue.at(1500)
    assert queue.claim("b") == ["1"]


def test_a_second_effect_leaves_no_row(queue: Queue) -> None:
    queue.claim("a")
    assert queue.owns("effect", "a", "1")
    assert not queue.owns("effect", "a", "1", attempt=2)


def test_the_report_counts_by_state(queue: Queue) -> None:
    queue.claim("a")
    assert [(row["state"], row["jobs"]) for row in queue.run("report")] == [("claimed", "1"), ("ready", "23")]


def test_jobs_can_be_read_by_id_through_the_index(queue: Queue) -> None:
    statement = queue.design.operations["jobs"].statements[0].sent
    queue.connection.exec_(b"SET enable_seqscan = off")  # a table of 24 rows is scanned otherwise
    plan = queue.connection.exec_(f"EXPLAIN SELECT * FROM ({statement}) j WHERE job = ANY('{{3}}')".encode())
    queue.connection.exec_(b"RESET enable_seqscan")
    assert "queue_jobs_pkey" in "".join((plan.get_value(row, 0) or b"").decode() for row in range(plan.ntuples))
