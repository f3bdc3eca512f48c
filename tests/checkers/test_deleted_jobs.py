"""Histories of a design whose completion deletes the row: that is an end, any other deletion is a loss."""

from __future__ import annotations

from typing import Any

import pytest

from simrunner.checkers.registry import CHECKERS
from simrunner.history.builder import HistoryBuilder
from simrunner.history.by_hand import REFERENCE_TRANSITIONS
from simrunner.history.context import AuditRow
from simrunner.history.history import History
from simrunner.model.design import Policies

TRANSITIONS = (REFERENCE_TRANSITIONS - {("claimed", "done")}) | {("claimed", None)}


class DeletingBuilder(HistoryBuilder):
    """A completion deletes the row."""

    def complete(self, actor: str, job: int | None = None, **options: Any) -> None:
        self.write(actor, "complete", job, lambda row, time: None, **options)

    def build(self, **context: Any) -> History:
        return super().build(**({"transitions": TRANSITIONS, "policies": Policies(completion_deletes=True)} | context))


def violated(history: History) -> list[str]:
    return [checker.name for checker in CHECKERS if checker.check(history).findings]


def queue(jobs: int = 1) -> DeletingBuilder:
    h = DeletingBuilder()
    h.seed(jobs)
    return h


def do(h: DeletingBuilder, actor: str = "worker-z", job: int = 1) -> DeletingBuilder:
    h.claim(actor, job)
    h.work_start(actor)
    h.work_end(actor)
    h.effect(actor)
    h.complete(actor)
    return h


def lapse(h: DeletingBuilder, actor: str = "worker-a") -> DeletingBuilder:
    """Let a claim lapse."""
    h.claim(actor, 1)
    h.clock(60_000)
    return h


def test_a_right_history_passes() -> None:
    h = lapse(queue(2))
    h.kill("worker-a", "after-commit")
    h.recover()
    do(h, job=2)
    assert violated(do(h).build()) == []


def test_the_end_of_every_job_counts() -> None:
    history = do(queue()).build()
    judged = {checker.name: checker.check(history) for checker in CHECKERS}
    for name in ("no-job-lost", "effect-once", "attempts-accounted", "history-complete", "claim-durable"):
        assert judged[name].opportunities == 1


@pytest.mark.parametrize("cohort", ["seed", None])
def test_a_recovery_that_deletes_loses_the_job(cohort: str | None) -> None:
    h = DeletingBuilder()
    h.seed(1, cohort=cohort)
    lapse(h)
    h.begin("recoverer-1", "recover")
    h.sent("recoverer-1")
    h.ok("recoverer-1", rows=1)
    h.change("recoverer-1", 1, lambda row: None)
    h.commit("recoverer-1")
    assert violated(h.build()) == ["no-job-lost"]


def test_without_the_policy_a_deletion_is_a_loss() -> None:
    assert violated(do(queue()).build(policies=Policies())) == ["no-job-lost"]


def test_whoever_deletes_a_job_had_claimed_it() -> None:
    h = queue()
    h.claim("worker-a", 1)
    h.effect("worker-a")
    h.complete("worker-b", 1, token=99, accepted=True)
    assert violated(h.build()) == ["no-job-lost"]


def test_a_completion_comes_after_its_effect() -> None:
    h = queue()
    h.claim("worker-a", 1)
    h.complete("worker-a")
    assert violated(h.build()) == ["effect-once"]


def test_a_late_deletion_is_a_late_write() -> None:
    h = lapse(queue())
    h.recover()
    h.claim("worker-b", 1)
    h.effect("worker-b")
    h.complete("worker-a", 1, accepted=True)
    assert violated(h.build()) == ["fenced-writes"]


def test_a_late_deletion_that_is_refused_is_no_violation() -> None:
    h = lapse(queue())
    h.recover()
    h.claim("worker-b", 1)
    h.effect("worker-b")
    h.complete("worker-a", 1)
    h.complete("worker-b", 1)
    assert violated(h.build()) == []


def test_a_deleted_row_is_not_there_at_the_end() -> None:
    h = do(queue())
    still = queue().build().context.final_jobs
    assert violated(h.build(final_jobs=still)) == ["history-complete"]


def two_done() -> DeletingBuilder:
    return do(do(queue(2)), job=2)


def trail(*deleted: int) -> tuple[AuditRow, ...]:
    """The audit trail of two jobs, in which some deletions are told."""
    claims = tuple(AuditRow(job, 1, job, "ready", "claimed") for job in (1, 2))
    return (*claims, *(AuditRow(job, 1, job, "claimed", None) for job in deleted))


@pytest.mark.parametrize("told", [(), (1, 2)])
def test_an_audit_trail_tells_all_deletions_or_none(told: tuple[int, ...]) -> None:
    assert violated(two_done().build(audit=trail(*told))) == []


def test_an_audit_trail_that_lacks_a_deletion_is_wrong() -> None:
    history = two_done().build(audit=trail(1))
    assert violated(history) == ["history-complete"]
