"""lease-honoured: a recovery or a steal comes strictly after the stored expiry."""

from typing import Any

import pytest

from simrunner.checkers.lease_honoured import check
from simrunner.history.builder import HistoryBuilder
from simrunner.history.by_hand import reference_context

LEASE_US = 30_000_000


def taken(after_us: int, operation: str = "recover", to: str = "ready", **columns: Any) -> HistoryBuilder:
    """A recovery takes job 1 from worker-a, `after_us` after its claim by txn_time."""
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a", **columns)
    claimed_at = h.events[-1].txn_time or 0
    h.recover(job=1, operation=operation, to=to, txn_time=claimed_at + after_us)
    return h


def test_a_recovery_at_the_last_moment_of_the_lease_is_found() -> None:
    h = taken(LEASE_US)
    claim, end = (event for event in h.events if event.kind == "transition")
    judgement = check(h.build())
    (finding,) = judgement.findings
    assert judgement.opportunities == 1
    assert (finding.seq, finding.job, finding.witness) == (end.seq, 1, (claim.seq, end.seq))
    assert (
        "The recover transaction of recoverer-1.1 took job {job:1} from worker-a.1 (alive, token {token:1}) at"
        in finding.explanation
    )
    assert "06:00:30.001, although the stored lease was valid until 2026-09-22 06:00:30.001." in finding.explanation


def test_a_recovery_just_after_the_lease_passes() -> None:
    judgement = check(taken(LEASE_US + 1).build())
    assert (judgement.opportunities, judgement.findings) == (1, ())


@pytest.mark.parametrize(("operation", "to"), [("recover-write", "ready"), ("recover", "failed"), ("claim", "failed")])
def test_every_way_of_taking_away_is_judged(operation: str, to: str) -> None:
    assert len(check(taken(1_000, operation, to).build()).findings) == 1
    assert check(taken(LEASE_US + 1, operation, to).build()).findings == ()


def test_the_owner_may_be_dead() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.kill("worker-a", "after-commit")
    h.recover(job=1)
    (finding,) = check(h.build()).findings
    assert "(dead, " in finding.explanation


@pytest.mark.parametrize(("wait_ms", "found"), [(20_000, 1), (40_000, 0)])
def test_the_last_renewal_counts(wait_ms: int, found: int) -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.clock(20_000)
    h.heartbeat("worker-a")
    renewal = h.events[-1]
    h.clock(wait_ms)
    h.recover(job=1)
    findings = check(h.build()).findings
    assert len(findings) == found
    assert all(renewal.seq in finding.witness for finding in findings)


@pytest.mark.parametrize(("wait_ms", "found"), [(10_000, 1), (40_000, 0)])
def test_a_steal_is_judged(wait_ms: int, found: int) -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.clock(wait_ms)
    h.claim("worker-b", 1)
    judgement = check(h.build())
    assert (judgement.opportunities, len(judgement.findings)) == (1, found)


def test_own_writes_and_claims_without_expiry_are_no_opportunity() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.release("worker-a")
    h.claim("worker-a")
    h.complete("worker-a")
    assert check(h.build()).opportunities == 0
    assert check(taken(1_000, lease_until=None).build()).opportunities == 0


def test_a_foreign_write_is_a_matter_of_fencing() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.complete("worker-b", 1, token=9, accepted=True)
    assert check(h.build()).opportunities == 0


def test_the_usual_lease_is_the_one_of_these_tests() -> None:
    assert reference_context().lease_ms * 1_000 == LEASE_US
