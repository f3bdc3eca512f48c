"""single-live-claim: a steal under a valid lease fails, one after its expiry passes."""

from typing import Any

import pytest

from simrunner.checkers.single_live_claim import check
from simrunner.history.builder import HistoryBuilder
from simrunner.model.design import Ownership

LEASE_US = 30_000_000


def stolen(after_us: int, **columns: Any) -> HistoryBuilder:
    """Job 1 is claimed by worker-a and, `after_us` later by txn_time, by worker-b."""
    h = HistoryBuilder()
    h.seed(2)
    h.claim("worker-a", **columns)
    claimed_at = h.events[-1].txn_time or 0
    h.claim("worker-b", 1, txn_time=claimed_at + after_us)
    return h


def test_a_second_claim_under_a_valid_lease_is_found() -> None:
    judgement = check(stolen(1_000).build())
    (finding,) = judgement.findings
    first, second = (event for event in stolen(1_000).events if event.kind == "transition")
    assert judgement.opportunities == 2
    assert (finding.invariant, finding.job, finding.seq) == ("single-live-claim", 1, second.seq)
    assert finding.witness == (first.seq, second.seq)
    assert "worker-b.1 claimed job {job:1} with token {token:2}" in finding.explanation
    assert "worker-a.1 with token {token:1} was still open and valid until 2026-09-22 06:00:30.001" in finding.explanation


def test_a_claim_at_the_last_moment_of_the_lease_is_found_and_one_after_it_passes() -> None:
    assert len(check(stolen(LEASE_US).build()).findings) == 1
    assert check(stolen(LEASE_US + 1).build()).findings == ()


def test_a_claim_after_a_recovery_passes_even_if_the_lease_is_still_valid() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.recover(job=1)
    h.claim("worker-b", 1)
    judgement = check(h.build())
    assert (judgement.opportunities, judgement.findings) == (2, ())


def test_a_renewed_lease_counts() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    first = h.events[-1]
    h.clock(20_000)
    h.heartbeat("worker-a")
    renewal = h.events[-1]
    h.clock(20_000)
    h.claim("worker-b", 1)
    (finding,) = check(h.build()).findings
    assert finding.witness == (first.seq, renewal.seq, h.events[-3].seq)


@pytest.mark.parametrize("ownership", [Ownership.LEASE, Ownership.ROW])
def test_a_claim_without_expiry_never_lapses(ownership: Ownership) -> None:
    (finding,) = check(stolen(10 * LEASE_US, lease_until=None).build(ownership=ownership)).findings
    assert "without an expiry" in finding.explanation


def test_where_the_row_is_the_claim_its_lease_column_means_nothing() -> None:
    assert len(check(stolen(10 * LEASE_US).build(ownership=Ownership.ROW)).findings) == 1
    assert check(stolen(10 * LEASE_US).build(ownership=Ownership.LEASE)).findings == ()


def test_without_a_claim_there_is_no_opportunity() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim_nothing("worker-a")
    assert check(h.build()).opportunities == 0


def test_an_interrupted_run_keeps_its_finding() -> None:
    assert len(check(stolen(1_000).build(completed=False)).findings) == 1


def shared_lock(*, gone_first: bool) -> HistoryBuilder:
    """worker-a is killed with job 1 locked; worker-b gets the job before or after its backend has gone."""
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a", commit=False)
    h.kill("worker-a", "after-claim-before-commit", gone=gone_first)
    h.claim("worker-b", 1, commit=False)
    h.backend_gone("worker-a")
    return h


def test_where_the_lock_is_the_claim_two_open_transactions_may_not_share_a_job() -> None:
    judgement = check(shared_lock(gone_first=False).build(ownership=Ownership.LOCK))
    (finding,) = judgement.findings
    reads = [event.seq for event in shared_lock(gone_first=False).events if event.kind == "read"]
    assert (judgement.opportunities, list(finding.witness), finding.seq) == (2, reads, reads[1])


def test_where_the_lock_is_the_claim_it_ends_with_the_backend() -> None:
    judgement = check(shared_lock(gone_first=True).build(ownership=Ownership.LOCK))
    assert (judgement.opportunities, judgement.findings) == (2, ())


def test_a_lock_that_ended_hides_no_longer_one() -> None:
    h = HistoryBuilder()
    h.seed(1)
    for worker in ("worker-a", "worker-b"):
        h.claim(worker, 1, commit=False)
    h.rollback("worker-b")
    h.claim("worker-c", 1, commit=False)
    assert len(check(h.build(ownership=Ownership.LOCK)).findings) == 2


def test_in_rounds_mode_the_order_of_replies_tells_nothing() -> None:
    judgement = check(shared_lock(gone_first=False).build(ownership=Ownership.LOCK, mode="rounds"))
    assert (judgement.opportunities, judgement.findings) == (0, ())
