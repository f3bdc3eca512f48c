"""Each mutant does what it is said to do wrong, and the reference does not."""

from __future__ import annotations

import pytest

from simrunner.config import load_design
from simrunner.runtime.database import Database
from tests.designs.queue import Queue, Values


def test_a_late_completion_ends_somebody_elses_claim(database: Database) -> None:
    queue = Queue(database, load_design("mutants/unfenced-completion"))
    queue.claim("a")
    queue.at(15_001)
    queue.run("recover")
    queue.claim("b", batch=24)
    assert queue.owns("complete", "a", "1")
    assert queue.job("1")["state"] == "done"


def test_the_newest_job_is_claimed_first(database: Database) -> None:
    queue = Queue(database, load_design("mutants/claim-outside-order"))
    assert [queue.claim("a"), queue.claim("b")] == [["24"], ["23"]]
    assert queue.run("eligible")[0]["job"] == "1"


@pytest.mark.parametrize(("design", "early"), [("mutants/claims-early", ["1"]), ("reference", [])])
def test_a_released_job_is_claimed_before_its_delay_is_over(database: Database, design: str, early: list[str]) -> None:
    queue = Queue(database, load_design(design))
    queue.claim("a", batch=24)
    assert queue.owns("release", "a", "1", retry_delay_ms=5_000)
    queue.at(4_999)
    assert queue.claim("b") == early
    queue.at(5_000)
    assert [*early, *queue.claim("b")] == ["1"]


def test_two_workers_that_read_the_same_job_both_claim_it(database: Database) -> None:
    queue = Queue(database, load_design("mutants/select-then-update"))
    read, write = queue.design.operations["claim"].statements
    found = [queue.send(read.sent, read.parameters, {"batch": 1}) for _ in "ab"]
    assert found == [[{"job_id": "1"}]] * 2
    for worker in "ab":
        values: Values = {"worker_id": worker, "token": f"{worker}/1", "lease_ms": 15_000, "job_id": "1"}
        assert queue.send(write.sent, write.parameters, values)
    assert (queue.job("1")["owner"], queue.job("1")["attempts"]) == ("b", "2")


def test_alone_the_reading_claim_works(database: Database) -> None:
    queue = Queue(database, load_design("mutants/select-then-update"))
    assert [queue.claim("a"), queue.claim("a")] == [["1"], ["2"]]
    assert queue.owns("complete", "a", "1")


def test_nobody_recovers() -> None:
    assert not load_design("mutants/no-recovery").offers("recover")


MUTANTS = ("select-then-update", "unfenced-completion", "no-recovery", "claim-outside-order", "claims-early")


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_says_what_it_breaks(name: str) -> None:
    expected = {
        "select-then-update": "single-live-claim",
        "unfenced-completion": "fenced-writes",
        "no-recovery": "no-job-lost",
        "claim-outside-order": "claim-order",
        "claims-early": "claim-due",
    }
    assert load_design(f"mutants/{name}").expects_root_cause == expected[name]


def test_nothing_refuses_a_second_effect(database: Database) -> None:
    queue = Queue(database, load_design("mutants/effect-without-key"))
    queue.claim("a")
    assert [len(queue.run("effect", attempt=attempt)) for attempt in (1, 2)] == [1, 1]


def test_the_work_is_done_inside_the_claims_transaction() -> None:
    mutant, reference = (load_design(name).operations for name in ("mutants/work-in-transaction", "reference"))
    assert {name: source.text for name, source in mutant.items()} == {name: source.text for name, source in reference.items()}
    assert load_design("mutants/work-in-transaction").work_in_claim_transaction
