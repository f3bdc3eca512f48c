"""no-false-empty: an empty claim beside a free job, and those that are rightly empty."""

from collections.abc import Callable

from simrunner.checkers.no_false_empty import check
from simrunner.history.builder import HistoryBuilder
from simrunner.history.history import History
from simrunner.model.event import OBSERVER


def test_an_empty_claim_beside_a_free_job_is_a_violation() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim_nothing("worker-a")
    judgement = check(h.build())
    [finding] = judgement.findings
    ok = h.events[finding.seq - 1]
    assert (finding.job, ok.kind, ok.rows, judgement.opportunities) == (1, "ok", 0, 1)
    assert [h.events[seq - 1].kind for seq in finding.witness] == ["probe", "sent", "ok"]


def test_an_empty_claim_beside_a_locked_job_passes() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a", commit=False)
    h.claim_nothing("worker-b")
    judgement = check(h.build())
    assert (judgement.findings, judgement.opportunities) == ((), 1)


def test_an_empty_claim_of_an_empty_queue_is_no_opportunity() -> None:
    h = HistoryBuilder()
    h.claim_nothing("worker-a")
    judgement = check(h.build())
    assert (judgement.findings, judgement.opportunities) == ((), 0)


def test_a_failed_claim_is_not_an_empty_one() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.begin("worker-a", "claim")
    h.send_claim("worker-a", 1)
    h.failed("worker-a", "40001")
    h.rollback("worker-a")
    assert not check(h.build()).findings


def test_a_claim_that_was_killed_between_two_statements_is_not_an_empty_one() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.begin("worker-a", "claim")
    h.send_claim("worker-a", 1)
    h.ok("worker-a", rows=0)
    h.kill("worker-a")
    assert not check(h.build()).findings


def test_a_claim_whose_last_statement_returned_a_row_is_not_empty() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.begin("worker-a", "claim")
    h.send_claim("worker-a", 1)
    h.ok("worker-a", rows=0)
    h.sent("worker-a", "2", token=1)
    h.claimed("worker-a", [1], 1)
    h.commit("worker-a")
    assert not check(h.build()).findings


def wait(h: HistoryBuilder, meanwhile: Callable[[], object]) -> None:
    h.seed(1)
    h.begin("worker-b", "claim")
    h.send_claim("worker-b", 1)
    h.blocked("worker-b", "worker-a")
    meanwhile()
    h.freed("worker-b")
    h.ok("worker-b", rows=0)
    h.commit("worker-b")


def test_a_blocked_claim_may_find_nothing_when_another_took_the_job() -> None:
    h = HistoryBuilder()
    wait(h, lambda: h.claim("worker-a", 1))
    assert not check(h.build()).findings


def test_a_blocked_claim_may_not_miss_a_job_that_waited_all_the_time() -> None:
    h = HistoryBuilder()
    wait(h, h.enqueue)
    assert [finding.job for finding in check(h.build()).findings] == [1]


def concurrent_round(jobs: int, taken: dict[str, int | None]) -> History:
    h = HistoryBuilder()
    h.seed(jobs)
    h.phase("safety")
    for job in range(1, jobs + 1):
        h.event("probe", actor=OBSERVER, operation="claim", job=job, rank=job)
    for actor, took in taken.items():
        if took is None:
            h.claim_nothing(actor, probe=False)
        else:
            h.claim(actor, took, probe=False)
    return h.build(mode="rounds")


def test_a_round_with_a_job_for_everybody_has_no_empty_claim() -> None:
    judgement = check(concurrent_round(2, {"worker-a": 1, "worker-b": None}))
    assert [finding.job for finding in judgement.findings] == [2]


def test_a_round_with_fewer_jobs_than_claims_may_have_one() -> None:
    judgement = check(concurrent_round(1, {"worker-a": 1, "worker-b": None}))
    assert (judgement.findings, judgement.opportunities) == ((), 0)


def test_a_claim_that_changed_a_row_is_not_an_empty_one() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.begin("worker-a", "claim")
    h.send_claim("worker-a", 1)
    h.ok("worker-a", rows=1)
    h.commit("worker-a")
    assert not check(h.build()).findings
