"""What a pass certifies: each line reached and, by one event less, not reached."""

from simrunner.analysis.certificate import certify, eligible_depths
from simrunner.history.builder import HistoryBuilder
from simrunner.history.by_hand import START_US
from simrunner.model.workload import FaultSpec


def two_workers() -> HistoryBuilder:
    h = HistoryBuilder()
    h.seed(5)
    h.claim("worker-a")
    h.claim("worker-b")
    return h


def test_every_declared_worker_must_have_committed_a_claim() -> None:
    history = two_workers().build()
    [(text, reached, figures)] = certify(history, workers=2, faults=(), min_backlog=0)
    assert (text, reached, figures[:6]) == ("every worker took steps", True, "2 of 2")
    assert not certify(history, workers=3, faults=(), min_backlog=0)[0][1]


def test_a_worker_that_was_killed_before_its_commit_took_no_steps() -> None:
    h = two_workers()
    h.claim("worker-c", commit=False)
    h.kill("worker-c")
    assert not certify(h.build(), workers=3, faults=(), min_backlog=0)[0][1]


def test_an_empty_claim_that_committed_is_a_step() -> None:
    h = HistoryBuilder()
    h.claim_nothing("worker-a")
    assert certify(h.build(), workers=1, faults=(), min_backlog=0)[0][1]


def test_each_declared_crash_point_must_be_hit_as_often_as_declared() -> None:
    h = two_workers()
    h.kill("worker-a", "after-commit")
    fault = FaultSpec("kill", "after-commit")
    assert certify(h.build(), workers=2, faults=(fault,), min_backlog=0)[1] == (
        "fault kill at after-commit struck",
        True,
        "1 of 1 times",
    )
    twice = certify(h.build(), workers=2, faults=(fault, fault), min_backlog=0)
    assert (len(twice), twice[1][1:]) == (2, (False, "1 of 2 times"))


def test_a_kill_elsewhere_or_of_another_actor_does_not_count() -> None:
    h = two_workers()
    h.kill("worker-a", "before-claim")
    elsewhere, another = FaultSpec("kill", "after-commit"), FaultSpec("kill", "before-claim", actor="worker-b")
    lines = certify(h.build(), workers=2, faults=(elsewhere, another), min_backlog=0)
    assert [reached for _, reached, _ in lines] == [True, False, False]


def test_the_backlog_is_the_number_of_eligible_jobs_before_each_claim() -> None:
    h = two_workers()
    h.enqueue()
    h.seed(1, available_at=START_US + 60_000_000)
    h.claim("worker-a")
    h.clock(60_000)
    h.claim("worker-a")
    assert list(eligible_depths(h.build())) == [5, 4, 4, 4]
    history = h.build()
    assert certify(history, workers=2, faults=(), min_backlog=4)[1][1]
    assert not certify(history, workers=2, faults=(), min_backlog=5)[1][1]


def test_claims_of_the_liveness_phase_may_empty_the_queue() -> None:
    h = two_workers()
    h.phase("liveness")
    for _ in range(3):
        h.claim("worker-a")
    assert list(eligible_depths(h.build())) == [5, 4]


def test_a_backlog_that_no_claim_saw_is_not_reached() -> None:
    h = HistoryBuilder()
    h.seed(5)
    assert not certify(h.build(), workers=0, faults=(), min_backlog=1)[1][1]
