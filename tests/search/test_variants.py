"""Designs whose claim is a row lock, or whose completion deletes the row, on a real server: crashes at every place."""

from __future__ import annotations

from pathlib import Path

import pytest

from simrunner.config import load_design, load_workload
from simrunner.model.operations import WORKER_CRASH_POINTS
from simrunner.model.verdict import Verdict
from simrunner.runtime.database import Database
from simrunner.search.fitting import fitted
from simrunner.search.request import prepare
from tests.runtime.runs import Run, request, run

MODES = ("stepped", "rounds")


def crashed(database: Database, results: Path, design: str, point: str, mode: str) -> Run:
    """Two workers, three jobs, and a kill at a crash point."""
    settings = {"faults.0.crash_point": point, "must_exercise": "no-job-lost"}
    return run(database, results, prepare("smoke", design, settings, seed=1, mode=mode, strategy=None))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("point", WORKER_CRASH_POINTS)
def test_a_lock_is_all_or_nothing_wherever_its_owner_dies(database: Database, tmp_path: Path, point: str, mode: str) -> None:
    done = crashed(database, tmp_path, "variants/lock-only", point, mode)
    assert done.verdict().verdict is Verdict.VALID
    struck = "after-commit" if point == "after-complete" else point
    (fault,) = done.of("fault", value="kill")
    assert fault.crash_point == struck
    changes = [(event.from_state, event.to_state, event.generation) for event in done.of("transition")]
    assert changes == [("ready", "done", 1)] * 3
    assert len(done.of("effect")) == 3
    (gone,) = done.of("backend-gone")
    left = [event for event in done.events if event.txn is not None and event.txn == gone.txn and event.kind == "transition"]
    assert (gone.txn is None) == (struck in ("before-claim", "after-commit"))
    assert not left


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("point", WORKER_CRASH_POINTS)
def test_a_deleted_job_was_done_wherever_an_owner_dies(database: Database, tmp_path: Path, point: str, mode: str) -> None:
    done = crashed(database, tmp_path, "variants/delete-returning", point, mode)
    assert done.verdict().verdict is Verdict.VALID
    ends = [(event.from_state, event.operation) for event in done.of("transition") if event.to_state is None]
    assert ends == [("claimed", "complete")] * 3
    assert len(done.of("effect")) == 3


@pytest.mark.parametrize(
    ("mutant", "invariant", "mode"),
    [
        ("claim-without-lock", "single-live-claim", "stepped"),  # where claims race, two need not meet
        ("recovery-deletes", "no-job-lost", "stepped"),
        ("recovery-deletes", "no-job-lost", "rounds"),
    ],
)
def test_what_breaks_them_is_found(database: Database, tmp_path: Path, mutant: str, invariant: str, mode: str) -> None:
    done = run(database, tmp_path, request("smoke", f"mutants/{mutant}", mode=mode))
    assert done.verdict().root_cause == invariant == load_design(f"mutants/{mutant}").expects_root_cause


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", [1, 2])
def test_claims_that_hold_the_row_of_their_group_keep_its_limit(database: Database, tmp_path: Path, seed: int, mode: str) -> None:
    done = run(database, tmp_path, request("limited-groups", "variants/limited-groups", seed=seed, mode=mode))
    verdict = done.verdict()
    assert verdict.verdict is Verdict.VALID
    assert {row.name: row.opportunities for row in verdict.invariants}["concurrency-limit"] >= 24
    assert {event.group for event in done.of("seed")} == {"even", "odd"}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_limit_that_is_counted_and_then_used_is_exceeded(database: Database, tmp_path: Path, seed: int) -> None:
    done = run(database, tmp_path, request("limited-groups", "mutants/count-then-claim", seed=seed))
    assert done.verdict().root_cause == "concurrency-limit" == load_design("mutants/count-then-claim").expects_root_cause


def test_an_invariant_that_is_not_promised_need_not_be_exercised(database: Database, tmp_path: Path) -> None:
    wanted = request("smoke", "variants/lock-only")
    assert "claim-durable" in wanted.workload.must_exercise
    verdict = run(database, tmp_path, wanted).verdict()
    assert verdict.verdict is Verdict.VALID
    named = {row.name: row.verdict for row in verdict.invariants}
    assert named["claim-durable"] is Verdict.NOT_PROMISED


def test_behind_the_completion_is_behind_the_claims_commit_where_there_is_one_commit() -> None:
    asked = load_workload("smoke", {"faults.0.crash_point": "after-complete"})
    assert fitted(asked, load_design("reference")) == asked
    (fault,) = fitted(asked, load_design("variants/lock-only")).faults
    assert fault.crash_point == "after-commit"
