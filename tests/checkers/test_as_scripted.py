"""as-scripted: each kind of expectation unmet, met, and not judged because its promise is not made."""

from __future__ import annotations

from typing import Any

import pytest

from simrunner.analysis.judge import judge
from simrunner.checkers.as_scripted import check
from simrunner.history.builder import HistoryBuilder
from simrunner.history.by_hand import reference_context
from simrunner.history.history import History
from simrunner.model.design import Promises
from simrunner.model.verdict import Verdict
from simrunner.model.workload import Expectation, ScriptStep

A, B = "worker-a", "worker-b"


def second_claim(**expect: Any) -> History:
    """A holds job 1; B claims and gets job 2."""
    h = HistoryBuilder()
    h.seed(3)
    h.claim(A, commit=False)
    h.round(2)
    h.claim(B)
    h.round(3)
    h.rollback(A)
    steps = (ScriptStep("claim", A), ScriptStep("claim", B, expect=Expectation(**expect)), ScriptStep("rollback", A))
    return h.build(script=steps)


@pytest.mark.parametrize("expect", [{"jobs": ("2",)}, {"rows": 1}, {"waits": False}, {"jobs": ("2",), "rows": 1, "waits": False}])
def test_met(expect: dict[str, Any]) -> None:
    judgement = check(second_claim(**expect))
    assert (judgement.opportunities, judgement.findings) == (1, ())


@pytest.mark.parametrize(
    ("expect", "words"),
    [
        ({"jobs": ("1",)}, "returned job 2, expected job 1"),
        ({"jobs": ()}, "returned job 2, expected no job"),
        ({"jobs": ("2", "3")}, "returned job 2, expected job 2, 3"),
        ({"rows": 0}, "1 rows, expected 0"),
        ({"count": 1}, "counted nothing, expected 1"),
        ({"sqlstate": "55P03"}, "did not fail, expected 55P03"),
        ({"blocked_by": A}, "waited for nobody, expected worker-a"),
        ({"waits": True}, "did not wait, expected a wait"),
    ],
)
def test_unmet(expect: dict[str, Any], words: str) -> None:
    history = second_claim(**expect)
    [finding] = check(history).findings
    assert finding.explanation == f"Step 2, claim of worker-b: {words}."
    assert finding.seq == history.events[-1].seq
    assert {history.at(seq).actor for seq in finding.witness} == {B}


def blocked(**expect: Any) -> History:
    """B waits for A until A commits."""
    h = HistoryBuilder()
    h.seed(2)
    h.claim(A, commit=False)
    h.round(2)
    h.begin(B, "candidates")
    h.sent(B)
    h.blocked(B, A)
    h.round(3)
    h.commit(A)
    h.freed(B)
    h.ok(B, rows=1)
    h.read(B, 2)
    h.commit(B)
    steps = (ScriptStep("claim", A), ScriptStep("candidates", B, expect=Expectation(**expect)), ScriptStep("commit", A))
    return h.build(script=steps)


def test_a_wait_that_was_expected() -> None:
    assert not check(blocked(blocked_by=A, jobs=("2",), waits=True)).findings


@pytest.mark.parametrize(
    ("expect", "words"),
    [
        ({"blocked_by": "worker-c"}, "waited for worker-a, expected worker-c"),
        ({"waits": False}, "waited for worker-a, expected no wait"),
        ({"jobs": ("1",), "blocked_by": A}, "returned job 2, expected job 1"),
    ],
)
def test_a_wait_that_was_not(expect: dict[str, Any], words: str) -> None:
    [finding] = check(blocked(**expect)).findings
    assert finding.explanation == f"Step 2, candidates of worker-b: {words}."


def failing(**expect: Any) -> History:
    h = HistoryBuilder()
    h.seed(1)
    h.begin(A, "claim")
    h.send_claim(A, 1)
    h.failed(A, "40001")
    h.rollback(A)
    return h.build(script=(ScriptStep("claim", A, expect=Expectation(**expect)),))


def test_a_failure_that_was_expected() -> None:
    assert not check(failing(sqlstate="40001")).findings


@pytest.mark.parametrize(
    ("expect", "words"),
    [
        ({"sqlstate": "55P03"}, "failed with 40001, expected 55P03"),
        ({"jobs": ()}, "failed with 40001"),
        ({"rows": 0}, "no rows, expected 0; failed with 40001"),
    ],
)
def test_a_failure_that_was_not(expect: dict[str, Any], words: str) -> None:
    [finding] = check(failing(**expect)).findings
    assert finding.explanation == f"Step 1, claim of worker-a: {words}."


@pytest.mark.parametrize(("value", "violated"), [("2", False), ("3", True), (None, True)])
def test_a_number(value: str | None, violated: bool) -> None:
    h = HistoryBuilder()
    h.seed(2)
    h.begin(A, "count")
    h.sent(A)
    h.ok(A, rows=1)
    h.event("report", **(h.open_txn(A).columns | {"value": value}))
    h.commit(A)
    history = h.build(script=(ScriptStep("count", A, expect=Expectation(count=2)),))
    assert bool(check(history).findings) is violated


def test_a_step_that_was_not_taken() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.event("report", **(h.who(A) | {"value": "not taken", "round": 1}))
    [finding] = check(h.build(script=(ScriptStep("claim", A, expect=Expectation(jobs=())),))).findings
    assert finding.explanation == "Step 1, claim of worker-a: it was not taken."


def test_what_needs_a_promise_that_is_not_made_is_not_judged() -> None:
    assert check(second_claim(jobs=("1",), needs="claim-order")).opportunities == 0


def test_what_is_expected_unless_a_promise_is_made_is_judged_without_it() -> None:
    history = second_claim(jobs=("1",), unless="claim-order")
    assert len(check(history).findings) == 1
    promised = reference_context(script=history.context.script, promises=Promises(frozenset({"claim-order"})))
    assert check(History(history.events, promised)).opportunities == 0


def test_what_needs_a_promise_that_is_made_is_judged() -> None:
    history = second_claim(jobs=("1",), needs="claim-order")
    promised = reference_context(
        script=history.context.script, promises=Promises(frozenset({"claim-order"})), job_names={1: "1", 2: "2"}
    )
    assert len(check(History(history.events, promised)).findings) == 1


def test_an_interrupted_run_is_not_judged() -> None:
    assert check(second_claim(jobs=("1",))).findings
    h = HistoryBuilder()
    h.seed(1)
    h.claim_nothing(A)
    steps = (ScriptStep("claim", A), ScriptStep("claim", A, expect=Expectation(jobs=("1",))))
    assert check(h.build(script=steps, completed=False)).opportunities == 0


def test_the_script_promises_it_and_it_is_always_judged() -> None:
    verdict = judge(second_claim(jobs=("1",)), ["claim-order"], [], [])
    row = next(row for row in verdict.invariants if row.name == "as-scripted")
    assert (row.promised, row.judged, row.verdict, verdict.root_cause) == (True, True, Verdict.VIOLATED, "as-scripted")


def test_without_a_script_it_is_not_promised() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim(A)
    verdict = judge(h.build(), ["claim-order"], [], [])
    row = next(row for row in verdict.invariants if row.name == "as-scripted")
    assert (row.promised, row.judged, row.verdict) == (False, False, Verdict.NOT_PROMISED)


def test_an_invariant_that_explains_it_is_the_root_cause() -> None:
    h = HistoryBuilder()
    h.seed(2)
    h.claim(A, 2)
    promised = Promises(frozenset({"claim-order"}), order=reference_context().promises.order)
    steps = (ScriptStep("claim", A, expect=Expectation(jobs=("1",))),)
    verdict = judge(h.build(script=steps, promises=promised), ["claim-order"], [], [])
    violated = [row.name for row in verdict.invariants if row.verdict is Verdict.VIOLATED]
    assert (violated, verdict.root_cause) == (["claim-order", "as-scripted"], "claim-order")


@pytest.mark.parametrize(("offers", "found"), [(("claim", "recover"), 1), (("claim",), 0)])
def test_a_step_that_the_design_does_not_offer_is_not_judged(offers: tuple[str, ...], found: int) -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.recover("recoverer")
    steps = (ScriptStep("recover", "recoverer", expect=Expectation(rows=1)),)
    judgement = check(h.build(script=steps, offers=frozenset(offers)))
    assert (judgement.opportunities, len(judgement.findings)) == (found, found)


@pytest.mark.parametrize(("offers", "judged"), [({"recover"}, 1), ({"recover-read", "recover-write"}, 1), ({"claim"}, 0)])
def test_a_recovery_is_offered_by_one_statement_or_by_two_halves(offers: set[str], judged: int) -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.recover()
    steps = (ScriptStep("recover", "recoverer-1", expect=Expectation(rows=0)),)
    assert check(h.build(script=steps, offers=frozenset(offers))).opportunities == judged
