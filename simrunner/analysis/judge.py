"""From a history to the verdict of its run: every checker, what the design promises, what the workload judges.

A checker that crashes makes its invariant unknown and says why; it never silences the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from simrunner.checkers.registry import CHECKERS, Checker
from simrunner.history.history import History
from simrunner.limits import LIMITS
from simrunner.model.verdict import Finding, InvariantVerdict, Judgement, RunVerdict, Verdict

Line = tuple[str, bool, str]
"""One line of a certificate: what a pass requires, whether it was reached, figures."""

_NOTHING = Judgement(0, ())


class Examination(NamedTuple):
    """What one checker said about a history."""

    checker: Checker
    judgement: Judgement
    error: str | None
    """Its own failure, if it failed; the judgement is then empty."""


def judge(
    history: History,
    judges: Sequence[str],
    must_exercise: Sequence[str],
    certificate: Sequence[Line],
    checkers: Sequence[Checker] = CHECKERS,
) -> RunVerdict:
    """Return the verdict of a run.

    `judges` and `must_exercise` are names of invariants as the workload lists them: only those of `judges` that the
    design promises count, and a pass is one only if those of `must_exercise` had an opportunity and every line of the
    certificate was reached. The others are evaluated and shown all the same.
    """
    examined = [_examine(checker, history) for checker in checkers]
    counted = frozenset(judges)
    rows = [_row(one, one.checker.name in counted or _is_scripted(one, history), history) for one in examined]
    rows += [_unheard_of(name, history) for name in judges if all(one.checker.name != name for one in examined)]
    findings = tuple(finding for one in examined for finding in one.judgement.findings[: LIMITS.findings_per_invariant_max])
    return RunVerdict(
        _merge([row for row in rows if row.judged], must_exercise, certificate),
        _root_cause(rows),
        tuple(rows),
        tuple(certificate),
        tuple(sorted(findings, key=lambda finding: finding.seq)),
    )


def _examine(checker: Checker, history: History) -> Examination:
    try:
        return Examination(checker, checker.check(history), None)
    except Exception as error:  # noqa: BLE001 - whatever a checker does, the other invariants are still judged
        return Examination(checker, _NOTHING, f"the checker failed: {type(error).__name__}: {error}")


def _row(one: Examination, judged: bool, history: History) -> InvariantVerdict:
    findings = one.judgement.findings
    promised = one.checker.name in history.context.promises.invariants or _is_scripted(one, history)
    verdict = _verdict(one, promised, history)
    error = one.error or one.judgement.undecided
    if error is None and verdict is Verdict.UNKNOWN:
        error = "the run was interrupted: what it did not do any more cannot be judged"
    first = min(findings, key=lambda finding: finding.seq, default=None)
    return InvariantVerdict(one.checker.name, verdict, promised, judged, one.judgement.opportunities, len(findings), first, error)


def _is_scripted(one: Examination, history: History) -> bool:
    """Whether the workload's own script promises it."""
    return one.checker.promised_by_script and any(step.expect for step in history.context.script)


def _verdict(one: Examination, promised: bool, history: History) -> Verdict:
    """What is not offered or not promised is not judged; a violation stands even if the run was interrupted."""
    needed = one.checker.needs_operation
    if needed is not None and needed not in history.context.offers:
        return Verdict.NOT_OFFERED
    if not promised:
        return Verdict.NOT_PROMISED
    if one.judgement.findings:
        return Verdict.VIOLATED
    if one.error is not None or one.judgement.undecided is not None or not history.context.completed:
        return Verdict.UNKNOWN
    return Verdict.VALID if one.judgement.opportunities else Verdict.NOT_EXERCISED


def _unheard_of(name: str, history: History) -> InvariantVerdict:
    """An invariant that the workload judges, but no checker of this version decides."""
    promised = name in history.context.promises.invariants
    verdict = Verdict.UNKNOWN if promised else Verdict.NOT_PROMISED
    return InvariantVerdict(name, verdict, promised, True, 0, 0, None, "this version has no checker of that name")


def _merge(rows: Sequence[InvariantVerdict], must_exercise: Sequence[str], certificate: Iterable[Line]) -> Verdict:
    """Merge the judged invariants: violated before unknown before not exercised before valid."""
    found = [row.verdict for row in rows]
    for verdict in (Verdict.VIOLATED, Verdict.UNKNOWN):
        if verdict in found:
            return verdict
    idle = any(row.verdict is Verdict.NOT_EXERCISED and row.name in must_exercise for row in rows)
    unreached = any(not reached for _, reached, _ in certificate)
    return Verdict.NOT_EXERCISED if idle or unreached or Verdict.VALID not in found else Verdict.VALID


def _root_cause(rows: Iterable[InvariantVerdict]) -> str | None:
    """The judged invariant that was violated first; among equals the one that comes first in the registry."""
    violated: list[tuple[Finding, str]] = [
        (row.first, row.name) for row in rows if row.judged and row.verdict is Verdict.VIOLATED and row.first is not None
    ]
    return min(violated, key=lambda item: item[0].seq)[1] if violated else None
