"""The verdict of a run: merge order, root cause, crashed checkers, interrupted runs, what is not promised or not offered."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from simrunner.analysis.judge import Line, judge
from simrunner.checkers.registry import CHECKERS, Checker
from simrunner.history.builder import HistoryBuilder
from simrunner.history.by_hand import reference_context
from simrunner.history.history import History
from simrunner.limits import LIMITS
from simrunner.model.verdict import Finding, Judgement, RunVerdict, Verdict

VALID = Judgement(3, ())
IDLE = Judgement(0, ())
Result = Judgement | Callable[[History], Judgement]


def broken(name: str, *seqs: int) -> Judgement:
    return Judgement(3, tuple(Finding(name, seq, 1, (seq,), "broken") for seq in seqs))


def crash(history: History) -> Judgement:
    raise KeyError("no such column")


def checker(name: str, result: Result, needs: str | None = None) -> Checker:
    return Checker(name, name, (lambda history: result) if isinstance(result, Judgement) else result, needs)


def verdict(
    *checkers: Checker,
    promised: Sequence[str] | None = None,
    judges: Sequence[str] | None = None,
    must: Sequence[str] = (),
    certificate: Sequence[Line] = (),
    **context: Any,
) -> RunVerdict:
    names = [one.name for one in checkers]
    promises = replace(reference_context().promises, invariants=frozenset(names if promised is None else promised))
    history = HistoryBuilder().build(promises=promises, **context)
    return judge(history, names if judges is None else judges, must, certificate, checkers)


def rows(run: RunVerdict) -> dict[str, Verdict]:
    return {row.name: row.verdict for row in run.invariants}


def test_all_valid_is_valid() -> None:
    run = verdict(checker("a", VALID), checker("b", VALID))
    assert (run.verdict, run.root_cause, rows(run)) == (Verdict.VALID, None, {"a": Verdict.VALID, "b": Verdict.VALID})


def test_a_checker_that_crashes_is_unknown_and_says_why() -> None:
    run = verdict(checker("a", crash), checker("b", VALID))
    assert (run.verdict, rows(run)) == (Verdict.UNKNOWN, {"a": Verdict.UNKNOWN, "b": Verdict.VALID})
    assert run.invariants[0].error == "the checker failed: KeyError: 'no such column'"


def test_the_crash_of_a_checker_that_is_not_judged_does_not_count() -> None:
    run = verdict(checker("a", crash), checker("b", VALID), judges=["b"])
    assert (run.verdict, rows(run)["a"]) == (Verdict.VALID, Verdict.UNKNOWN)


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ((VALID, crash, broken("c", 4)), Verdict.VIOLATED),
        ((VALID, crash, IDLE), Verdict.UNKNOWN),
        ((VALID, VALID, IDLE), Verdict.NOT_EXERCISED),
        ((VALID, VALID, VALID), Verdict.VALID),
    ],
)
def test_violated_comes_before_unknown_before_not_exercised_before_valid(results: tuple[Result, ...], expected: Verdict) -> None:
    run = verdict(*(checker(name, result) for name, result in zip("abc", results, strict=True)), must=["c"])
    assert run.verdict is expected


def test_what_need_not_be_exercised_does_not_spoil_a_pass() -> None:
    run = verdict(checker("a", VALID), checker("b", IDLE))
    assert (run.verdict, rows(run)["b"]) == (Verdict.VALID, Verdict.NOT_EXERCISED)


def test_a_run_in_which_nothing_was_exercised_is_no_pass() -> None:
    assert verdict(checker("a", IDLE)).verdict is Verdict.NOT_EXERCISED


def test_an_unreached_line_of_the_certificate_is_no_pass() -> None:
    reached, unreached = ("workers", True, "2 of 2"), ("kills", False, "0 of 1")
    assert verdict(checker("a", VALID), certificate=[reached]).verdict is Verdict.VALID
    run = verdict(checker("a", VALID), certificate=[reached, unreached])
    assert (run.verdict, run.certificate) == (Verdict.NOT_EXERCISED, (reached, unreached))


def test_an_unreached_line_does_not_hide_a_violation() -> None:
    assert verdict(checker("a", broken("a", 3)), certificate=[("kills", False, "")]).verdict is Verdict.VIOLATED


def test_the_root_cause_is_the_earliest_finding() -> None:
    run = verdict(checker("a", broken("a", 9, 20)), checker("b", broken("b", 4)))
    assert run.root_cause == "b"


def test_of_two_findings_at_one_event_the_registry_decides() -> None:
    assert verdict(checker("b", broken("b", 4)), checker("a", broken("a", 4))).root_cause == "b"
    assert verdict(checker("a", broken("a", 4)), checker("b", broken("b", 4))).root_cause == "a"


def test_what_is_not_promised_is_shown_but_does_not_count() -> None:
    run = verdict(checker("a", broken("a", 2)), checker("b", VALID), promised=["b"])
    row = run.invariants[0]
    assert (run.verdict, run.root_cause) == (Verdict.VALID, None)
    assert (row.verdict, row.promised, row.violations, row.opportunities) == (Verdict.NOT_PROMISED, False, 1, 3)
    assert row.first is not None


def test_what_the_workload_does_not_judge_is_shown_but_does_not_count() -> None:
    run = verdict(checker("a", broken("a", 2)), checker("b", VALID), judges=["b"])
    assert (run.verdict, run.root_cause) == (Verdict.VALID, None)
    assert (rows(run)["a"], run.invariants[0].judged) == (Verdict.VIOLATED, False)


def test_an_invariant_whose_operation_is_missing_is_not_offered() -> None:
    run = verdict(checker("a", VALID, "heartbeat"), checker("b", VALID), offers=frozenset({"claim"}))
    assert (run.verdict, rows(run)["a"]) == (Verdict.VALID, Verdict.NOT_OFFERED)


def test_in_an_interrupted_run_violations_stand_and_all_else_is_unknown() -> None:
    run = verdict(checker("a", broken("a", 2)), checker("b", VALID), checker("c", IDLE), completed=False)
    assert run.verdict is Verdict.VIOLATED
    assert rows(run) == {"a": Verdict.VIOLATED, "b": Verdict.UNKNOWN, "c": Verdict.UNKNOWN}
    assert "interrupted" in (run.invariants[1].error or "")


def test_an_interrupted_run_without_a_violation_is_unknown() -> None:
    assert verdict(checker("a", VALID), completed=False, must=["a"]).verdict is Verdict.UNKNOWN


def test_an_invariant_without_a_checker_is_unknown() -> None:
    run = verdict(checker("a", VALID), judges=["a", "z"], promised=["a", "z"])
    assert (run.verdict, rows(run)["z"]) == (Verdict.UNKNOWN, Verdict.UNKNOWN)


def test_all_findings_are_kept_in_order_up_to_the_limit_of_each_invariant() -> None:
    many = broken("a", *range(1, LIMITS.findings_per_invariant_max + 6))
    run = verdict(checker("a", many), checker("b", broken("b", 4)))
    assert run.invariants[0].violations == LIMITS.findings_per_invariant_max + 5
    assert len(run.findings) == LIMITS.findings_per_invariant_max + 1
    assert [finding.seq for finding in run.findings] == sorted(finding.seq for finding in run.findings)


def test_a_correct_run_passes_every_registered_checker() -> None:
    names = [one.name for one in CHECKERS]
    h = HistoryBuilder()
    h.seed(3)
    h.claim("worker-a")
    h.kill("worker-a", "after-commit")
    h.clock(60_000)
    h.recover()
    for _ in range(3):
        h.claim("worker-b")
        h.work_start("worker-b")
        h.effect("worker-b")
        h.work_end("worker-b")
        h.complete("worker-b")
    promises = replace(reference_context().promises, invariants=frozenset(names))
    run = judge(h.build(promises=promises), names, ["no-job-lost", "claim-order", "effect-once"], [])
    assert not [(row.name, row.first, row.error) for row in run.invariants if row.violations or row.error]
    assert run.verdict is Verdict.VALID


def test_the_registry_names_each_invariant_once() -> None:
    names = [one.name for one in CHECKERS]
    assert len(set(names)) == len(names)
