"""short-claim-transaction: work inside the claim's transaction, and the transactions beside the work that may be open."""

import pytest

from simrunner.checkers.short_claim_transaction import check
from simrunner.history.builder import HistoryBuilder


def claimed(*, commit: bool) -> HistoryBuilder:
    """worker-a has claimed job 1, and worker-b has begun to work on job 2 after its claim committed."""
    h = HistoryBuilder()
    h.seed(3)
    h.claim("worker-a", 1, commit=commit)
    h.claim("worker-b", 2)
    h.work_start("worker-b")
    return h


def test_a_transaction_that_spans_the_work_is_a_violation() -> None:
    h = claimed(commit=False)
    h.work_start("worker-a")
    h.clock(5_000)
    h.work_end("worker-a")
    h.work_end("worker-b")
    h.commit("worker-a")
    judgement = check(h.build())
    [finding] = judgement.findings
    shown = [(h.events[seq - 1].kind, h.events[seq - 1].value) for seq in finding.witness]
    assert shown == [("sent", "BEGIN"), ("work-start", None), ("work-end", None)]
    assert (finding.job, finding.seq, judgement.opportunities) == (1, finding.witness[2], 2)


def test_it_is_one_too_where_the_worker_dies_over_the_work() -> None:
    h = claimed(commit=False)
    h.work_start("worker-a")
    h.kill("worker-a", "during-work")
    [finding] = check(h.build()).findings
    assert h.events[finding.seq - 1].kind == "process-end"


def test_each_job_of_a_batch_is_worked_on_inside_the_transaction() -> None:
    h = HistoryBuilder(batch=2)
    h.seed(2)
    h.claim("worker-a", commit=False)
    for job in (1, 2):
        h.work_start("worker-a", job)
        h.work_end("worker-a", job)
    h.commit("worker-a")
    assert [finding.job for finding in check(h.build()).findings] == [1, 2]


def test_work_after_the_commit_passes_whatever_others_hold_open() -> None:
    h = claimed(commit=False)
    h.work_end("worker-b")
    h.commit("worker-a")
    h.work_start("worker-a")
    h.work_end("worker-a")
    judgement = check(h.build())
    assert (judgement.findings, judgement.opportunities) == ((), 2)


def test_a_claim_that_commits_while_the_work_goes_on_passes() -> None:
    h = claimed(commit=False)
    h.work_start("worker-a")
    h.commit("worker-a")
    h.work_end("worker-a")
    assert not check(h.build()).findings


@pytest.mark.parametrize("over", [True, False])
def test_a_transaction_that_began_during_the_work_passes(over: bool) -> None:
    h = claimed(commit=True)
    h.work_start("worker-a")
    h.heartbeat("worker-a", commit=over)
    h.work_end("worker-a")
    if not over:
        h.commit("worker-a")
    assert not check(h.build()).findings


def test_work_whose_end_the_history_does_not_reach_is_not_judged() -> None:
    h = claimed(commit=False)
    h.work_start("worker-a")
    judgement = check(h.build(completed=False))
    assert (judgement.findings, judgement.opportunities) == ((), 0)
