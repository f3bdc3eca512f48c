"""token-unique: a token names one claim."""

from simrunner.checkers.token_unique import check
from simrunner.history.builder import HistoryBuilder


def test_a_token_that_the_next_incarnation_uses_again_is_found() -> None:
    h = HistoryBuilder()
    h.seed(2)
    h.claim("worker-a")
    first = h.events[-1]
    h.kill("worker-a", "after-commit")
    h.claim("worker-a", 2, token=1)
    judgement = check(h.build())
    (finding,) = judgement.findings
    assert judgement.opportunities == 2
    assert (finding.job, finding.witness) == (2, (first.seq, h.events[-3].seq))
    assert (
        "worker-a.2 claimed job {job:2} (claim 1 of the job) with token {token:1}, which worker-a.1 had used"
        in finding.explanation
    )


def test_different_tokens_pass() -> None:
    h = HistoryBuilder()
    h.seed(2)
    h.claim("worker-a")
    h.claim("worker-a")
    judgement = check(h.build())
    assert (judgement.opportunities, judgement.findings) == (2, ())


def test_the_next_claim_of_the_same_job_needs_another_token() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.release("worker-a")
    h.claim("worker-a", 1, token=1)
    assert len(check(h.build()).findings) == 1


def test_the_rows_of_one_batch_may_share_a_token() -> None:
    h = HistoryBuilder(batch=2)
    h.seed(4)
    h.claim("worker-a")
    judgement = check(h.build())
    assert (judgement.opportunities, judgement.findings) == (2, ())


def test_two_batches_may_not_share_a_token() -> None:
    h = HistoryBuilder(batch=2)
    h.seed(4)
    h.claim("worker-a")
    h.claim("worker-b", token=1)
    assert [finding.job for finding in check(h.build()).findings] == [3, 4]


def test_a_renewal_repeats_its_token_rightly() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.heartbeat("worker-a")
    h.complete("worker-a")
    judgement = check(h.build())
    assert (judgement.opportunities, judgement.findings) == (1, ())


def test_claims_that_carry_no_token_are_no_opportunity() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim_nothing("worker-a")
    assert check(h.build()).opportunities == 0
