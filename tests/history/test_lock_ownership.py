"""Ownership where the row lock is the claim, and where one transaction both claims and ends."""

from __future__ import annotations

from dataclasses import replace

from simrunner.history.builder import HistoryBuilder
from simrunner.history.lock_builder import LockBuilder


def test_a_job_is_owned_from_the_claims_result_to_the_end_of_its_transaction() -> None:
    h = LockBuilder()
    h.seed(1)
    h.lock("worker-a")
    h.work("worker-a")
    history = h.build()
    (interval,) = history.intervals
    (claim,) = history.claims
    commit = next(event for event in history.of_kind("ok") if event.value == "COMMIT")
    assert (interval.claim.kind, interval.end, interval.owner) == ("read", commit, "worker-a.1")
    assert (interval.generation, claim.generation, claim.from_state, claim.to_state) == (1, 1, "ready", "done")
    assert interval.ended_by_owner


def test_a_claim_in_vain_has_an_interval_up_to_backend_gone_and_no_generation_of_its_own() -> None:
    h = LockBuilder()
    h.seed(1)
    h.lock("worker-a")
    h.kill("worker-a", "during-work")
    h.lock("worker-b")
    h.work("worker-b")
    lost, kept = h.build().ownership[1]
    assert lost.end is not None
    assert (lost.end.kind, lost.ended_by_owner, lost.generation, kept.generation) == ("backend-gone", False, 1, 1)
    assert lost.end.seq < kept.claim.seq


def test_a_recorded_failure_is_a_claim_and_begins_a_new_stay() -> None:
    h = LockBuilder()
    h.seed(1)
    h.lock("worker-a")
    h.fail("worker-a")
    h.commit("worker-a")
    h.lock("worker-a")
    history = h.build(completed=False)
    assert [interval.generation for interval in history.intervals] == [1, 2]
    assert [(claim.from_state, claim.to_state) for claim in history.claims] == [("ready", "ready")]
    assert history.intervals[1].end is None


def test_a_lease_that_its_own_transaction_ended_was_never_open() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a", commit=False)
    h.change("worker-a", 1, lambda row: replace(row, generation=1, attempt=1, state="done", completed_at=h.now))
    # of what one transaction does to a row only the result is committed
    h.open_txn("worker-a").pending.pop(0)
    h.commit("worker-a")
    (interval,) = h.build().intervals
    assert (interval.end, interval.ended_by_owner) == (interval.claim, True)
    assert not interval.open_at(interval.claim.seq + 1)
