"""The object `context` of run.json: what checkers know besides the events, so that a stored run is judged without its design."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import msgspec

from simrunner.errors import RunFolderError
from simrunner.history.context import Context
from simrunner.model.design import Design, Ownership, Policies, Promises
from simrunner.model.workload import ScriptStep, Workload
from simrunner.store.final import FinalRows
from simrunner.store.journal import Names


@dataclass(frozen=True, slots=True)
class _Document:
    """The stored half of a Context; field names are the JSON keys."""

    ownership: Ownership
    promises: Promises
    policies: Policies
    transitions: frozenset[tuple[str | None, str | None]]
    offers: frozenset[str]
    mode: str
    cohort: str
    lease_ms: int
    batch: int
    max_attempts: int
    starvation_claims: int
    script: tuple[ScriptStep, ...] = ()


def context_document(design: Design, workload: Workload, mode: str) -> dict[str, Any]:
    """Return what run.json keeps under `context`: plain JSON values, sets as sorted lists."""
    promises = asdict(design.promises)
    promises["invariants"] = sorted(promised(design, workload))
    promises["order"] = [asdict(column) for column in design.promises.order]
    return {
        "ownership": design.ownership.value,
        "promises": promises,
        "policies": asdict(design.policies),
        "transitions": sorted((list(pair) for pair in design.transitions), key=_null_first),
        "offers": sorted(design.operations),
        "mode": mode,
        "cohort": workload.cohort,
        "lease_ms": workload.lease_ms,
        "batch": workload.batch,
        "max_attempts": workload.max_attempts,
        "starvation_claims": workload.starvation_claims,
        "script": [asdict(step) for step in workload.script],
    }


def context_of(design: Design, workload: Workload, mode: str, names: Names, final: FinalRows) -> Context:
    """Return the context of a run in memory that reached its end: what `context_from` makes of its document."""
    return Context(
        design.ownership,
        replace(design.promises, invariants=promised(design, workload)),
        design.policies,
        design.transitions,
        frozenset(design.operations),
        mode,
        workload.cohort,
        workload.lease_ms,
        workload.batch,
        workload.max_attempts,
        workload.starvation_claims,
        completed=True,
        final_jobs=final.jobs,
        audit=final.audit,
        job_names=_of_kind(names, "job"),
        token_names=_of_kind(names, "token"),
        script=workload.script,
    )


def promised(design: Design, workload: Workload) -> frozenset[str]:
    """The invariants that a design promises under a workload."""
    if workload.preferred_inflow and not design.promises.despite_inflow:
        return design.promises.invariants - {"starvation-freedom"}
    return design.promises.invariants


def _null_first(pair: list[str | None]) -> list[str]:
    return [state or "" for state in pair]


def context_from(document: object, names: Names, final: FinalRows, *, completed: bool) -> Context:
    """Build a checker's context from run.json's `context` and what was recorded. Raises RunFolderError."""
    try:
        stored = msgspec.convert(document, _Document)
    except msgspec.ValidationError as error:
        raise RunFolderError(f"run.json's context is damaged or missing ({error})") from error
    return Context(
        **{field: getattr(stored, field) for field in _Document.__dataclass_fields__},
        completed=completed,
        final_jobs=final.jobs,
        audit=final.audit,
        job_names=_of_kind(names, "job"),
        token_names=_of_kind(names, "token"),
    )


def _of_kind(names: Names, kind: str) -> Mapping[int, str]:
    return names.get(kind, {})
