"""claim-due: nobody claims a job before its stored available_at."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simrunner.checkers.claim_due import check
from simrunner.history.builder import HistoryBuilder
from simrunner.history.by_hand import MS, START_US, reference_context
from simrunner.history.lock_builder import LockBuilder

FIRST_US = START_US + MS
"""What now() tells the first transaction."""
LATER_US = START_US + 20_000 * MS
UNORDERED = replace(reference_context().promises, order=())


def found(h: HistoryBuilder) -> list[int]:
    """The seqs of the findings."""
    return [finding.seq for finding in check(h.build()).findings]


def put_off() -> HistoryBuilder:
    """A job that was given back and is due 20 s after the beginning."""
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.release("worker-a", available_at=LATER_US)
    return h


@pytest.mark.parametrize("early_us", [1, 20_000 * MS])
def test_a_claim_of_a_scheduled_job_before_it_is_due_is_found(early_us: int) -> None:
    h = HistoryBuilder()
    h.seed(1, available_at=FIRST_US + early_us)
    h.claim("worker-a", 1)
    seed, claim = (next(event for event in h.events if event.kind == kind) for kind in ("seed", "transition"))
    judgement = check(h.build())
    (finding,) = judgement.findings
    assert (judgement.opportunities, finding.seq, finding.job, finding.witness) == (1, claim.seq, 1, (seed.seq, claim.seq))
    assert "claimed job {job:1} at 2026-09-22 06:00:00.001" in finding.explanation
    assert f" {early_us / 1000:g} ms before it was due" in finding.explanation


@pytest.mark.parametrize("late_us", [0, 1])
def test_at_the_very_moment_it_passes(late_us: int) -> None:
    h = HistoryBuilder()
    h.seed(1, available_at=FIRST_US - late_us)
    h.claim("worker-a", 1)
    assert found(h) == []


def test_the_delay_of_a_release_keeps_the_job_back() -> None:
    h = put_off()
    h.claim("worker-b", 1)
    claim = h.events[-1]
    assert found(h) == [claim.seq]
    h = put_off()
    h.clock(20_000)
    h.claim("worker-b", 1)
    assert found(h) == []


def test_the_time_of_the_claims_transaction_counts_not_that_of_its_commit() -> None:
    h = put_off()
    h.claim("worker-b", 1, commit=False)
    h.clock(60_000)
    h.commit("worker-b")
    claim = h.events[-1]
    assert found(h) == [claim.seq]


def test_a_clock_that_has_jumped_back_counts_as_it_stands() -> None:
    h = put_off()
    h.clock(20_000)
    h.clock(-10_000)
    h.claim("worker-b", 1)
    claim = h.events[-1]
    assert found(h) == [claim.seq]


def test_what_was_committed_last_counts_not_what_the_claim_had_read() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.begin("worker-b", "claim")
    token = h._new_token("worker-b")
    h.send_claim("worker-b", token)
    h.claim("worker-a")
    h.release("worker-a", available_at=LATER_US)
    h.claimed("worker-b", [1], token)
    h.commit("worker-b")
    claim = h.events[-1]
    judgement = check(h.build())
    assert (judgement.opportunities, [finding.seq for finding in judgement.findings]) == (1, [claim.seq])


def test_a_claim_that_did_not_commit_took_nothing() -> None:
    h = put_off()
    h.claim("worker-b", 1, commit=False)
    h.kill("worker-b", "after-claim-before-commit")
    judgement = check(h.build())
    assert (judgement.opportunities, judgement.findings) == (0, ())


def test_a_job_without_a_time_is_always_due() -> None:
    h = HistoryBuilder()
    h.seed(2)
    h.claim("worker-a")
    h.claim("worker-b")
    h.events[:] = [event._replace(available_at=None) for event in h.events]
    judgement = check(h.build())
    assert (judgement.opportunities, judgement.findings) == (0, ())


def test_where_every_job_is_due_nothing_was_exercised() -> None:
    h = HistoryBuilder()
    h.seed(2)
    for worker in ("worker-a", "worker-b"):
        h.claim(worker)
        h.complete(worker)
    h.claim_nothing("worker-a")
    assert check(h.build()).opportunities == 0


def test_a_claim_in_vain_beside_a_job_that_is_not_due_is_an_opportunity() -> None:
    h = put_off()
    h.claim_nothing("worker-b")
    h.clock(20_000)
    h.claim("worker-b")
    assert check(h.build()).opportunities == 1


def two(first_priority: int) -> HistoryBuilder:
    """Job 1, of a priority, is not due; job 2, of priority 0, is claimed."""
    h = HistoryBuilder()
    h.seed(1, priority=first_priority, available_at=LATER_US)
    h.seed(1)
    h.claim("worker-a")
    assert h.events[-1].job == 2
    return h


def test_a_claim_that_passes_over_a_job_ahead_of_its_own_is_an_opportunity() -> None:
    assert check(two(first_priority=1).build()).opportunities == 1
    assert check(two(first_priority=0).build()).opportunities == 0


def test_with_room_in_the_batch_or_without_an_order_any_job_that_waits_counts() -> None:
    assert check(two(first_priority=0).build(batch=2)).opportunities == 1
    assert check(two(first_priority=0).build(promises=UNORDERED)).opportunities == 1


def test_a_job_that_has_gone_waits_no_longer() -> None:
    h = put_off()
    h.begin("worker-a", "release")
    h.change("worker-a", 1, lambda row: None)
    h.commit("worker-a")
    h.claim_nothing("worker-b")
    assert check(h.build()).opportunities == 0


def test_where_the_lock_is_the_claim_it_counts_with_its_commit() -> None:
    for available_at, expected in ((LATER_US, 1), (FIRST_US, 0)):
        h = LockBuilder()
        h.seed(1, available_at=available_at)
        h.lock("worker-a", 1)
        assert found(h) == []
        h.work("worker-a")
        assert len(found(h)) == expected
