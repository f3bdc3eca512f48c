"""Figures of a run: waits and passes per job, recoveries with their rank, refused writes, crashes, the same row twice."""

from __future__ import annotations

from simrunner.history.builder import HistoryBuilder
from simrunner.history.history import History
from simrunner.model.workload import ScriptStep
from simrunner.report.acceptance.figures import figures
from simrunner.report.acceptance.plans import plan_in_words
from simrunner.report.acceptance.waits import longest_waits, waits_of

A, B = "worker-a", "worker-b"


def abandoned() -> HistoryBuilder:
    """Job 1 is claimed, abandoned, recovered behind job 3, and its old completion is refused; job 2 is executed once."""
    h = HistoryBuilder()
    h.seed(3)
    token = h.claim(A)
    h.kill(A, "after-commit")
    h.claim(B)
    h.complete(B)
    h.clock(60_000)
    h.recover()
    h.complete("ghost", 1, token=token)
    h.claim(B)
    h.claim(B)
    h.complete(B)
    return h


def test_a_recovered_job_stands_behind_those_that_were_ready() -> None:
    [recovered] = [wait for wait in waits_of(abandoned().build()) if wait.is_recovery]
    assert (recovered.job, recovered.ahead, recovered.passed, recovered.newer) == (1, 1, 1, 0)


def test_a_locked_job_is_passed_by_newer_ones() -> None:
    h = HistoryBuilder()
    h.seed(3)
    h.claim(A, commit=False)
    h.claim(B)
    h.claim(B)
    h.rollback(A)
    [first, *_] = longest_waits(waits_of(h.build()))
    assert (first.job, first.passed, first.newer, first.end) == (1, 2, 2, None)


def test_the_figures_of_rounds() -> None:
    told = figures(abandoned().build())
    assert "4 claims of 3 jobs were committed." in told
    assert "4 of 4 claims took the highest-ranked candidates that nobody had locked." in told
    assert "1 of 3 writes of owners were refused, on job 1: the claim was no longer theirs." in told
    assert any(line.startswith("worker-a.1 was struck by kill at after-commit, virtual time 2026-09-22") for line in told)
    assert any(line.startswith("Job 1 re-entered by recovery, ready jobs ahead of it: 1; ") for line in told)


def test_a_claim_outside_the_order_is_counted() -> None:
    h = HistoryBuilder()
    h.seed(3)
    h.claim(A, 3)
    h.claim(A)
    assert "1 of 2 claims took the highest-ranked candidates that nobody had locked." in figures(h.build())


def test_histories_that_end_in_the_same_row_are_told_side_by_side() -> None:
    h = abandoned()
    told = figures(scripted(h))
    assert "Job 2, at the end done: claimed by worker-b.1 (attempt 1), done by worker-b.1." in told
    assert (
        "Job 1, at the end done: claimed by worker-a.1 (attempt 1), ready by recoverer-1.1, claimed by worker-b.1 (attempt 2), "
        "done by worker-b.1; 1 writes of former owners were refused."
    ) in told


def scripted(h: HistoryBuilder) -> History:
    return h.build(script=(ScriptStep("look"),))


PLAN = """Update on design.queue_jobs job  (cost=0.41..8.6 rows=1 width=252)
  CTE candidate
    ->  Limit  (cost=0.14..0.2 rows=1 width=30)
          ->  LockRows  (cost=0.14..1.7 rows=24 width=30)
                ->  Index Scan using queue_jobs_ready_order_idx on design.queue_jobs  (cost=0.14..1.4 rows=24 width=30)
                      Output: queue_jobs.id, (now())
  ->  Hash Join  (cost=0.2..8.4 rows=1 width=252)"""


def test_a_plan_in_words() -> None:
    assert plan_in_words(PLAN) == (
        "the plan reads queue_jobs_ready_order_idx and has no explicit sort; "
        "nodes: Update > Limit > LockRows > Index Scan > Hash Join"
    )


def test_a_plan_that_scans_and_sorts() -> None:
    plan = "Limit  (cost=1..2 rows=1)\n  ->  Sort  (cost=1..2 rows=3)\n        Sort Key: a\n        ->  Seq Scan on t"
    assert plan_in_words(plan + "  (cost=0..1 rows=3 width=8)") == (
        "the plan reads no index and has an explicit sort; nodes: Limit > Sort > Seq Scan"
    )
