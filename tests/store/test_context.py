"""The context in run.json: plain JSON, in a fixed order, and back."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from simrunner.errors import RunFolderError
from simrunner.model.design import Design, OperationSource, OrderColumn, Ownership, Policies, Promises
from simrunner.model.workload import Actors, Fixture, Liveness, Safety, Workload
from simrunner.store.context import context_document
from simrunner.store.reader import load
from simrunner.store.seal import seal
from tests.store.folders import AUDIT, EVENTS, JOBS, recorded

PROMISES = Promises(
    frozenset({"single-live-claim", "claim-order", "no-job-lost"}), order=(OrderColumn("priority", True),), lease_ms=30
)
TRANSITIONS: frozenset[tuple[str | None, str | None]] = frozenset({(None, "ready"), ("ready", "claimed"), ("done", None)})


def design() -> Design:
    operations = {name: OperationSource(name, f"{name}.sql", "", (), {}) for name in ("claim", "complete", "audit")}
    return Design(
        name="reference",
        title="",
        origin="",
        folder="",
        sha256="0",
        isolation="read committed",
        ownership=Ownership.LEASE,
        work_in_claim_transaction=False,
        tidies_up=False,
        uses_statement_clock=False,
        operations=operations,
        transitions=TRANSITIONS,
        promises=PROMISES,
        policies=Policies(fifo_counts_locked=True),
        state_tables=(),
        effects=None,
    )


def workload() -> Workload:
    return Workload(
        name="high-depth",
        title="",
        question="",
        path="",
        sha256="0",
        strategy="pct",
        fixture=Fixture(24),
        actors=Actors(4),
        safety=Safety(3, 1000),
        liveness=Liveness(9, 1000),
        faults=(),
        cohort="seed",
        lease_ms=30_000,
        batch=2,
        max_attempts=3,
        retry_delay_ms=0,
        starvation_claims=17,
        vacuum_every_rounds=0,
        judges=(),
        must_exercise=(),
        min_backlog=0,
    )


def test_the_document_is_plain_json_with_sorted_sets() -> None:
    document = context_document(design(), workload(), "stepped")
    assert json.loads(json.dumps(document)) == document
    assert document["offers"] == ["audit", "claim", "complete"]
    assert document["transitions"] == [[None, "ready"], ["done", None], ["ready", "claimed"]]
    assert document["promises"]["invariants"] == ["claim-order", "no-job-lost", "single-live-claim"]


@pytest.mark.parametrize(("inflow", "despite", "promised"), [(False, False, True), (True, False, False), (True, True, True)])
def test_an_endless_inflow_of_preferred_jobs_takes_a_promise_back(inflow: bool, despite: bool, promised: bool) -> None:
    promises = replace(PROMISES, invariants=frozenset({"starvation-freedom", "claim-order"}), despite_inflow=despite)
    asked = replace(workload(), preferred_inflow=inflow)
    document = context_document(replace(design(), promises=promises), asked, "stepped")
    assert document["promises"]["invariants"] == ["claim-order", *["starvation-freedom"] * promised]


@pytest.mark.parametrize("complete", [True, False])
def test_load_gives_the_context_back(tmp_path: Path, complete: bool) -> None:
    folder = recorded(tmp_path, complete=complete)
    folder.update_run(context=context_document(design(), workload(), "stepped"))
    unsealed = load(folder)
    seal(folder)
    events, context = load(folder)
    assert (events, context) == unsealed
    assert events == EVENTS
    assert (context.promises, context.policies, context.transitions) == (PROMISES, design().policies, TRANSITIONS)
    assert (context.ownership, context.offers) == (Ownership.LEASE, frozenset({"audit", "claim", "complete"}))
    assert (context.cohort, context.lease_ms, context.batch, context.max_attempts) == ("seed", 30_000, 2, 3)
    assert (context.mode, context.starvation_claims, context.completed) == ("stepped", 17, complete)
    assert (context.job_names, context.token_names) == ({1: "1"}, {1: "worker-a.1/1"})
    assert context.final_jobs == (tuple(JOBS) if complete else None)
    assert context.audit == (tuple(AUDIT) if complete else None)


def test_a_damaged_context_is_refused(tmp_path: Path) -> None:
    folder = recorded(tmp_path)
    with pytest.raises(RunFolderError, match="context is damaged or missing"):
        load(folder)
    folder.update_run(context={**context_document(design(), workload(), "stepped"), "batch": "two"})
    with pytest.raises(RunFolderError, match=r"batch"):
        load(folder)
