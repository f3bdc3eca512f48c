"""`verdict.json`, a public contract, and the rows of `findings.parquet`: pure functions of a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simrunner.analysis.names import fill_names, job_name
from simrunner.history.context import Context
from simrunner.model.verdict import VERDICT_SCHEMA, Finding, InvariantVerdict, RunVerdict


def verdict_document(
    verdict: RunVerdict,
    context: Context,
    *,
    design: str,
    workload: str,
    seed: int,
    postgres: str,
    history_sha256: str,
    events: int,
    replay: str,
) -> dict[str, Any]:
    """Return `verdict.json` as a dict of JSON values.

    `postgres` is the server version that really ran, `events` the number of recorded events, `replay` the command
    line that repeats the run. The first fourteen keys are the contract; `certificate` says what a pass rests on.
    """
    return {
        "schema": VERDICT_SCHEMA,
        "verdict": verdict.verdict.value,
        "design": design,
        "workload": workload,
        "seed": seed,
        "mode": context.mode,
        "postgres": postgres,
        "history_sha256": history_sha256,
        "events": events,
        "root_cause": verdict.root_cause,
        "replay": replay,
        "invariants": [_invariant(row, context) for row in verdict.invariants],
        "certificate": [
            {"requires": text, "reached": reached, "figures": figures} for text, reached, figures in verdict.certificate
        ],
    }


def findings_table(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Return one dict per finding: invariant, seq, job (ordinal or None), witness (list of seqs), explanation (unfilled)."""
    return [
        {
            "invariant": finding.invariant,
            "seq": finding.seq,
            "job": finding.job,
            "witness": list(finding.witness),
            "explanation": finding.explanation,
        }
        for finding in findings
    ]


def _invariant(row: InvariantVerdict, context: Context) -> dict[str, Any]:
    return {
        "name": row.name,
        "verdict": row.verdict.value,
        "promised": row.promised,
        "judged": row.judged,
        "opportunities": row.opportunities,
        "violations": row.violations,
        "first_violation": None if row.first is None else _violation(row.first, context),
        "error": row.error,
    }


def _violation(finding: Finding, context: Context) -> dict[str, Any]:
    return {
        "seq": finding.seq,
        "job": job_name(context, finding.job),
        "explanation": fill_names(finding.explanation, context),
    }
