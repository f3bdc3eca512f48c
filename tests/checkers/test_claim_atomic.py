"""claim-atomic: a claim that did not commit leaves no change, no lock and no counted attempt."""

from collections.abc import Callable

import pytest

from simrunner.checkers.claim_atomic import check
from simrunner.history.builder import HistoryBuilder


def crashed() -> HistoryBuilder:
    """worker-a dies after its claim returned job 1, before COMMIT; its backend is still there."""
    h = HistoryBuilder()
    h.seed(2)
    h.claim("worker-a", commit=False)
    h.kill("worker-a", "after-claim-before-commit", gone=False)
    return h


def test_a_transition_of_a_claim_that_did_not_commit_is_found() -> None:
    h = crashed()
    h.backend_gone("worker-a", durable=True)
    judgement = check(h.build())
    (finding,) = judgement.findings
    read = next(event for event in h.events if event.kind == "read")
    gone = next(event for event in h.events if event.kind == "backend-gone")
    transition = next(event for event in h.events if event.kind == "transition")
    assert judgement.opportunities == 1
    assert finding.witness == (read.seq, gone.seq, transition.seq)
    assert (finding.seq, finding.job) == (transition.seq, 1)
    assert "The claim of job {job:1} by worker-a.1 ended with its server process before COMMIT, yet" in finding.explanation


def test_a_claim_whose_backend_left_without_a_trace_passes() -> None:
    h = crashed()
    h.backend_gone("worker-a")
    h.claim("worker-b")
    judgement = check(h.build())
    assert (judgement.opportunities, judgement.findings) == (1, ())


def test_a_trace_of_a_claim_that_was_rolled_back_is_found() -> None:
    for durable in (True, False):
        h = HistoryBuilder()
        h.seed(1)
        h.claim("worker-a", commit=False)
        h.rollback("worker-a", durable=durable)
        judgement = check(h.build())
        assert (judgement.opportunities, len(judgement.findings)) == (1, int(durable))
        assert all("by worker-a.1 was rolled back, yet" in finding.explanation for finding in judgement.findings)


@pytest.mark.parametrize("durable", [True, False])
def test_a_lost_acknowledgement_is_no_violation_either_way(durable: bool) -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a", commit=False)
    h.commit("worker-a", ack=False, durable=durable)
    h.kill("worker-a")
    judgement = check(h.build())
    assert judgement.findings == ()
    assert judgement.opportunities == int(not durable), "if it committed after all, nothing was lost"


def test_a_lock_that_outlives_its_backend_is_found() -> None:
    h = crashed()
    h.backend_gone("worker-a")
    h.locks[1] = "worker-a"
    h.claim("worker-b", 2)
    (finding,) = check(h.build()).findings
    probe = next(event for event in h.events if event.kind == "probe" and event.actor == "worker-b" and event.job == 1)
    assert (finding.seq, finding.job, finding.witness[-1]) == (probe.seq, 1, probe.seq)
    assert "still locked by that session when worker-b.1 looked" in finding.explanation


def test_a_lock_while_the_backend_is_still_there_passes() -> None:
    h = crashed()
    h.claim("worker-b", 2)
    h.backend_gone("worker-a")
    assert check(h.build()).findings == ()


def test_a_lock_of_the_next_incarnation_is_its_own() -> None:
    h = crashed()
    h.backend_gone("worker-a")
    h.claim("worker-a", 1, commit=False, probe=False)
    h.claim("worker-b", 2)
    h.rollback("worker-a")
    judgement = check(h.build())
    assert (judgement.opportunities, judgement.findings) == (2, ())


def test_only_the_first_look_afterwards_tells_of_that_claim() -> None:
    h = crashed()
    h.backend_gone("worker-a")
    h.claim_nothing("worker-b")
    h.locks[1] = "worker-a"
    h.claim("worker-b", 2)
    assert check(h.build()).findings == ()


def test_an_attempt_that_an_aborted_claim_left_behind_is_found() -> None:
    h = crashed()
    h.backend_gone("worker-a")
    h.claim("worker-b", 1, attempt=2)
    (finding,) = check(h.build()).findings
    assert finding.seq == h.events[-3].seq
    assert "attempts went up to 2" in finding.explanation


def test_two_aborted_claims_before_one_counted_attempt_give_one_finding() -> None:
    h = crashed()
    h.backend_gone("worker-a")
    h.claim("worker-c", 1, commit=False)
    h.rollback("worker-c")
    h.claim("worker-b", 1, attempt=3)
    judgement = check(h.build())
    assert (judgement.opportunities, len(judgement.findings)) == (2, 1)


def test_a_design_whose_claim_counts_two_is_not_blamed_here() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.begin("worker-a", "claim")
    h.send_claim("worker-a", 1)
    h.ok("worker-a", rows=1)
    h.read("worker-a", 1, token=1, attempt=2)
    h.kill("worker-a", "after-claim-before-commit")
    h.claim("worker-b", 1, attempt=2)
    judgement = check(h.build())
    assert (judgement.opportunities, judgement.findings) == (1, ())


@pytest.mark.parametrize(
    "write",
    [
        lambda h: h.claim("worker-a"),
        lambda h: h.claim_nothing("worker-a"),
        lambda h: (h.claim("worker-a", commit=False), h.kill("worker-a", gone=False)),
    ],
)
def test_committed_empty_and_unfinished_claims_are_no_opportunity(write: Callable[[HistoryBuilder], object]) -> None:
    h = HistoryBuilder()
    h.seed(1)
    write(h)
    judgement = check(h.build(completed=False))
    assert (judgement.opportunities, judgement.findings) == (0, ())
