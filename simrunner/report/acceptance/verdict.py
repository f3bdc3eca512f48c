"""verdict.json of an acceptance: the public keys of any verdict, and what the experiments came to."""

from __future__ import annotations

import hashlib
from typing import Any

from simrunner.analysis.names import fill_names, job_name
from simrunner.history.context import Context
from simrunner.model.verdict import VERDICT_SCHEMA, Finding, Verdict
from simrunner.report.acceptance.acceptance import Acceptance
from simrunner.report.acceptance.gate import DecisionWord, Status, Tally, tally_all
from simrunner.report.acceptance.results import Experiment, Result, Word

_VERDICTS = {
    Status.HOLDS: Verdict.VALID,
    Status.VIOLATED: Verdict.VIOLATED,
    Status.UNKNOWN: Verdict.UNKNOWN,
    Status.NOT_EXERCISED: Verdict.NOT_EXERCISED,
    Status.NOT_PROMISED: Verdict.NOT_PROMISED,
    Status.NOT_OFFERED: Verdict.NOT_OFFERED,
}


def acceptance_document(acceptance: Acceptance, postgres: str) -> dict[str, Any]:
    """Return `verdict.json` of an acceptance as JSON values. `postgres` is the number of the server's version.

    `history_sha256` is the SHA-256 over the histories of its stepped runs, a line each: name, space, history_sha256.
    """
    results = [result for one in acceptance.experiments for result in one.results]
    return {
        "schema": VERDICT_SCHEMA,
        "verdict": verdict_of(acceptance).value,
        "design": acceptance.design,
        "workload": "accept",
        "seed": acceptance.seed,
        "mode": "stepped",
        "postgres": postgres,
        "history_sha256": _digest(results),
        "events": sum(len(result.analysis.history.events) for result in results if result.analysis),
        "root_cause": acceptance.decision.root_cause,
        "replay": acceptance.again,
        "invariants": [_invariant(tally, acceptance) for tally in tally_all(acceptance.experiments)],
        "decision": acceptance.decision.word.value,
        "reasons": list(acceptance.decision.reasons),
        "gate": [{"line": line.text, "status": line.status.value, "figures": line.figures} for line in acceptance.lines],
        "experiments": [_experiment(experiment) for experiment in acceptance.experiments],
    }


def verdict_of(acceptance: Acceptance) -> Verdict:
    """Return the verdict that a decision means."""
    if acceptance.decision.word is DecisionWord.ACCEPTED:
        return Verdict.VALID
    if acceptance.decision.word is DecisionWord.REJECTED:
        return Verdict.VIOLATED
    left = {result.word for one in acceptance.experiments for result in one.results} - {Word.PASSED, Word.NOT_PROMISED}
    return Verdict.NOT_EXERCISED if left <= {Word.NOT_EXERCISED, Word.NOT_OFFERED} else Verdict.UNKNOWN


def _digest(results: list[Result]) -> str:
    stepped = [result for result in results if result.analysis is not None and result.part.mode == "stepped"]
    lines = "".join(f"{result.part.name} {result.analysis.history_sha256}\n" for result in stepped if result.analysis)
    return hashlib.sha256(lines.encode()).hexdigest()


def _invariant(tally: Tally, acceptance: Acceptance) -> dict[str, Any]:
    verdict = _VERDICTS[tally.status]
    return {
        "name": tally.name,
        "verdict": verdict.value,
        "promised": verdict not in (Verdict.NOT_PROMISED, Verdict.NOT_OFFERED),
        "judged": True,
        "opportunities": tally.opportunities,
        "violations": tally.violations,
        "first_violation": _first_violation(tally.name, acceptance),
        "error": None,
    }


def _first_violation(name: str, acceptance: Acceptance) -> dict[str, Any] | None:
    """The first violation in the first run that has one; `run` names it."""
    for result in (result for one in acceptance.experiments for result in one.own if name in result.violated):
        rows = result.analysis.verdict.invariants if result.analysis else ()
        first = next((row.first for row in rows if row.name == name), None)
        if first is not None and result.analysis is not None:
            return {"run": result.part.name, **_violation(first, result.analysis.history.context)}
    return None


def _violation(finding: Finding, context: Context) -> dict[str, Any]:
    text = fill_names(finding.explanation, context)
    return {"seq": finding.seq, "job": job_name(context, finding.job), "explanation": text}


def _experiment(experiment: Experiment) -> dict[str, Any]:
    return {
        "name": experiment.name,
        "verdict": experiment.word.value,
        "violated": sorted({name for result in experiment.own for name in result.violated}),
        "file": experiment.part.file,
        "runs": [{"name": result.part.name, "verdict": result.word.value} for result in experiment.results],
    }
