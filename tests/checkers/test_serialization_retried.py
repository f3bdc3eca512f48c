"""serialization-retried: failures that nobody tried again, rows of them, and those after which the actor went on."""

from collections.abc import Callable

import pytest

from simrunner.checkers.serialization_retried import IN_A_ROW, check
from simrunner.history.builder import HistoryBuilder


def failing_claim(h: HistoryBuilder, actor: str = "worker-b") -> None:
    h.begin(actor, "claim")
    h.send_claim(actor, 1)
    h.failed(actor, "40001")
    h.rollback(actor)


def failing_commit(h: HistoryBuilder, actor: str = "worker-b") -> None:
    h.begin(actor, "claim")
    h.send_claim(actor, 1)
    h.ok(actor, rows=1)
    h.sent(actor, "COMMIT")
    h.failed(actor, "40001")


@pytest.mark.parametrize("fail", [failing_claim, failing_commit])
def test_a_failure_that_is_not_tried_again_is_a_violation(fail: Callable[[HistoryBuilder], None]) -> None:
    h = HistoryBuilder()
    h.seed(2)
    fail(h)
    h.round(2)
    h.claim("worker-a")
    judgement = check(h.build())
    [finding] = judgement.findings
    assert h.events[finding.seq - 1].sqlstate == "40001"
    assert (finding.witness, judgement.opportunities) == ((finding.seq,), 1)


@pytest.mark.parametrize("fail", [failing_claim, failing_commit])
def test_a_failure_that_is_tried_again_passes(fail: Callable[[HistoryBuilder], None]) -> None:
    h = HistoryBuilder()
    h.seed(2)
    fail(h)
    h.round(2)
    h.claim("worker-b")
    judgement = check(h.build())
    assert (judgement.findings, judgement.opportunities) == ((), 1)


def test_another_actor_is_no_retry() -> None:
    h = HistoryBuilder()
    h.seed(2)
    failing_claim(h)
    h.round(2)
    h.claim("worker-a")
    assert len(check(h.build()).findings) == 1


def test_another_operation_is_no_retry() -> None:
    h = HistoryBuilder()
    h.seed(2)
    h.claim("worker-b")
    failing_claim(h)
    h.round(2)
    h.complete("worker-b", 1)
    assert len(check(h.build()).findings) == 1


def test_a_failure_in_the_last_round_could_not_be_tried_again() -> None:
    h = HistoryBuilder()
    h.seed(1)
    failing_claim(h)
    judgement = check(h.build())
    assert (judgement.findings, judgement.opportunities) == ((), 1)


def test_the_dead_try_nothing_again() -> None:
    h = HistoryBuilder()
    h.seed(1)
    failing_claim(h)
    h.kill("worker-b")
    h.round(2)
    h.claim("worker-a")
    assert not check(h.build()).findings


def test_the_end_of_an_interrupted_run_says_nothing() -> None:
    h = HistoryBuilder()
    h.seed(1)
    failing_claim(h)
    h.round(2)
    h.claim("worker-a")
    assert not check(h.build(completed=False)).findings


def test_failures_in_a_row_are_a_violation_however_often_they_are_tried_again() -> None:
    h = HistoryBuilder()
    h.seed(1)
    for _ in range(IN_A_ROW):
        failing_claim(h)
    h.claim("worker-b")
    judgement = check(h.build())
    [finding] = judgement.findings
    assert (len(finding.witness), finding.seq, judgement.opportunities) == (IN_A_ROW, finding.witness[-1], IN_A_ROW)


def test_a_commit_in_between_ends_the_row() -> None:
    h = HistoryBuilder()
    h.seed(1)
    for _ in range(IN_A_ROW - 1):
        failing_claim(h)
    h.claim("worker-b")
    failing_claim(h)
    h.claim_nothing("worker-b")
    assert not check(h.build()).findings


def test_two_actors_do_not_make_a_row() -> None:
    h = HistoryBuilder()
    h.seed(1)
    for actor in ("worker-a", "worker-b") * 2:
        failing_claim(h, actor)
    for actor in ("worker-a", "worker-b"):
        h.claim_nothing(actor)
    assert not check(h.build()).findings


def test_another_failure_is_none_of_its() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.begin("worker-b", "claim")
    h.send_claim("worker-b", 1)
    h.failed("worker-b", "40P01")
    h.rollback("worker-b")
    h.round(2)
    h.claim("worker-a")
    judgement = check(h.build())
    assert (judgement.findings, judgement.opportunities) == ((), 0)
