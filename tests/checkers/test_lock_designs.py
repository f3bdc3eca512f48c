"""Histories of a design whose claim is the row lock: right ones pass every checker, each wrong one fails the one it is for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simrunner.checkers.registry import CHECKERS
from simrunner.history.context import AuditRow
from simrunner.history.history import History
from simrunner.history.lock_builder import LockBuilder


def violated(history: History) -> list[str]:
    return [checker.name for checker in CHECKERS if checker.name not in NOT_PROMISED and checker.check(history).findings]


NOT_PROMISED = ("claim-durable", "token-unique", "lease-honoured", "fenced-writes", "short-claim-transaction")


def queue(jobs: int = 2) -> LockBuilder:
    h = LockBuilder()
    h.seed(jobs)
    return h


def do_all(h: LockBuilder) -> LockBuilder:
    """Let worker-z do whatever is left."""
    while any(row.state == "ready" for row in h.rows.values()):
        h.lock("worker-z")
        h.work("worker-z")
    return h


def test_a_right_history_passes() -> None:
    h = queue(3)
    h.lock("worker-a")
    h.lock("worker-b")
    h.kill("worker-a", "after-effect-before-complete")
    h.work("worker-b")
    h.lock("worker-b")
    h.fail("worker-b")
    h.commit("worker-b")
    assert violated(do_all(h).build()) == []


def test_what_is_not_promised_has_nothing_to_judge() -> None:
    history = do_all(queue()).build()
    judged = {checker.name: checker.check(history).opportunities for checker in CHECKERS}
    assert [judged[name] for name in NOT_PROMISED if name != "short-claim-transaction"] == [0] * 4
    assert judged["single-live-claim"] == judged["attempts-accounted"] == judged["starvation-freedom"] == 2


def test_a_job_is_locked_until_the_dead_workers_backend_has_gone() -> None:
    h = queue(1)
    h.lock("worker-a")
    h.kill("worker-a", "during-work", gone=False)
    h.lock("worker-b", 1)
    h.backend_gone("worker-a")
    h.work("worker-b")
    assert violated(h.build()) == ["single-live-claim"]


def test_a_claim_that_was_rolled_back_leaves_nothing() -> None:
    h = queue(1)
    h.lock("worker-a")
    h.complete("worker-a")
    h.effect("worker-a")
    h.rollback("worker-a", durable=True)
    assert violated(h.build()) == ["claim-atomic"]


def test_a_free_job_ahead_is_not_passed_over() -> None:
    h = queue(2)
    h.lock("worker-a", 2)
    h.work("worker-a")
    assert violated(do_all(h).build()) == ["claim-order"]


def test_a_locked_job_ahead_is_passed_over() -> None:
    h = queue(2)
    h.lock("worker-a")
    h.lock("worker-b", 2)
    h.work("worker-b")
    h.work("worker-a")
    assert violated(h.build()) == []


def test_a_claim_does_not_come_back_empty_while_a_job_is_free() -> None:
    h = queue(1)
    h.claim_nothing("worker-a")
    assert violated(do_all(h).build()) == ["no-false-empty"]


def pass_by(first_unlocked: bool) -> LockBuilder:
    """Let eleven jobs pass the first one, which a slow worker holds all the while or not at all."""
    h = queue(12)
    if not first_unlocked:
        h.lock("worker-a")
    for job in range(2, 13):
        h.lock("worker-b", job, probe=False)
        h.work("worker-b")
    if not first_unlocked:
        h.work("worker-a")
    return do_all(h)


def test_a_free_job_does_not_starve() -> None:
    assert violated(pass_by(first_unlocked=True).build()) == ["starvation-freedom"]


def test_a_job_in_work_does_not_starve() -> None:
    assert violated(pass_by(first_unlocked=False).build()) == []


def test_a_failed_attempt_begins_a_new_stay() -> None:
    """Six jobs pass it, then it fails and stands behind what is ready; six newer ones pass it too."""
    h = queue(7)
    for job in range(2, 8):
        h.lock("worker-b", job, probe=False)
        h.work("worker-b")
    h.lock("worker-a", 1)
    h.fail("worker-a")
    h.commit("worker-a")
    later = [h.enqueue() for _ in range(6)]
    for job in later:
        h.lock("worker-b", job, probe=False)
        h.work("worker-b")
    assert violated(do_all(h).build()) == []


@pytest.mark.parametrize("counted", [0, 2])
def test_a_failure_is_counted_once(counted: int) -> None:
    h = queue(1)
    h.lock("worker-a")
    h.fail("worker-a", attempt=counted)
    h.commit("worker-a")
    assert violated(do_all(h).build()) == ["attempts-accounted"]


def test_an_attempt_that_ended_with_its_worker_is_not_counted() -> None:
    h = queue(1)
    h.lock("worker-a")
    h.kill("worker-a", "during-work")
    h.rows[1] = replace(h.rows[1], attempt=1)
    assert "attempts-accounted" in violated(do_all(h).build())


def test_a_completion_comes_with_its_effect() -> None:
    h = queue(1)
    h.lock("worker-a")
    h.work_start("worker-a")
    h.work_end("worker-a")
    h.complete("worker-a")
    h.commit("worker-a")
    assert violated(h.build()) == ["effect-once"]


def test_an_effect_is_committed_once() -> None:
    h = queue(1)
    h.lock("worker-a")
    h.effect("worker-a")
    h.fail("worker-a")
    h.commit("worker-a")
    assert violated(do_all(h).build()) == ["effect-once"]


def test_what_is_left_in_the_queue_is_lost() -> None:
    h = queue(1)
    h.lock("worker-a")
    h.rollback("worker-a")
    history = h.build()
    assert violated(history) == ["no-job-lost"]
    (lost,) = next(checker.check(history).findings for checker in CHECKERS if checker.name == "no-job-lost")
    assert "was not claimed again" in lost.explanation


def test_whoever_ends_a_job_had_claimed_it() -> None:
    h = queue(2)
    h.lock("worker-a")
    h.effect("worker-a", 2)
    h.complete("worker-a", 2)
    h.work("worker-a")
    assert violated(h.build()) == ["no-job-lost"]


def test_a_done_job_says_when_it_was_completed() -> None:
    h = queue(1)
    h.lock("worker-a")
    h.work("worker-a", completed_at=None)
    assert violated(h.build()) == ["ownership-complete"]


def test_the_state_changes_as_declared() -> None:
    h = queue(1)
    h.lock("worker-a")
    h.effect("worker-a")
    h.fail("worker-a", to="cancelled")
    h.commit("worker-a")
    assert violated(h.build()) == ["legal-transition"]


def failed_twice() -> LockBuilder:
    h = queue(1)
    for _ in range(2):
        h.lock("worker-a")
        h.fail("worker-a")
        h.commit("worker-a")
    return do_all(h)


def trail(*attempts: int) -> tuple[AuditRow, ...]:
    failures = tuple(AuditRow(1, attempt, None, "ready", "ready") for attempt in attempts)
    return (*failures, AuditRow(1, 2, None, "ready", "done"))


def test_the_audit_trail_tells_every_failure() -> None:
    assert violated(failed_twice().build(audit=trail(1, 2))) == []


def test_an_audit_trail_without_a_failure_is_wrong() -> None:
    assert violated(failed_twice().build(audit=trail(1))) == ["history-complete"]


def race(*, loser_commits: bool) -> LockBuilder:
    """In one concurrent round two workers get the same job; the second finds it done, or dies."""
    h = queue(1)
    h.lock("worker-a", 1)
    h.lock("worker-b", 1)
    h.work("worker-a")
    if loser_commits:
        h.complete("worker-b", 1, accepted=False)
        h.commit("worker-b")
    else:
        h.kill("worker-b", "after-claim-before-commit")
    return h


def test_in_a_race_a_committed_claim_without_a_change_was_overtaken() -> None:
    h = race(loser_commits=True)
    (finding,) = next(check.check(h.build(mode="rounds")).findings for check in CHECKERS if check.name == "single-live-claim")
    assert finding.job == 1
    assert "worker-b.1 got job {job:1} and committed without a change of it" in finding.explanation
    assert "worker-a.1, which had got it too, took it to done" in finding.explanation


def test_in_a_race_a_dead_claimant_may_have_had_the_job_before() -> None:
    assert violated(race(loser_commits=False).build(mode="rounds")) == []
