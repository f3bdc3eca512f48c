"""Work inside the claim's transaction: one COMMIT, its crash points, and the claim that a script's session holds open."""

from __future__ import annotations

from pathlib import Path

import pytest

from simrunner.runtime.database import Database
from tests.runtime.runs import Run, request, run, script_file, workload_file

DESIGN = "mutants/work-in-transaction"
WHOLE = [
    ("claim", "BEGIN", "before-claim"),
    ("claim", "1", None),
    (None, None, "after-claim-before-commit"),
    (None, None, "during-work"),
    ("effect", "1", None),
    ("complete", "1", "after-effect-before-complete"),
    ("complete", "COMMIT", "after-complete-before-commit"),
]


def killed_at(database: Database, tmp_path: Path, crash_point: str, mode: str = "stepped") -> Run:
    path = workload_file(tmp_path, "smoke", [("after-commit", crash_point)])
    return run(database, tmp_path, request(path, DESIGN, mode=mode))


def test_claim_work_effect_and_completion_are_one_transaction(database: Database, tmp_path: Path) -> None:
    done = run(database, tmp_path, request("smoke", DESIGN))
    txns = [event.txn for event in done.of("transition")]
    assert len(set(txns)) == len(txns) == 3
    for event in done.of("transition"):
        assert (event.from_state, event.to_state, event.generation) == ("ready", "done", 1)
        statements = [(one.operation, one.value) for one in done.of("sent", txn=event.txn)]
        assert statements == [(operation, value) for operation, value, _ in WHOLE if value is not None]
        assert [one.txn for one in done.of("effect", job=event.job)] == [event.txn]


@pytest.mark.parametrize("crash_point", [point for _, _, point in WHOLE if point not in (None, "before-claim")])
def test_a_kill_before_the_commit_leaves_nothing(database: Database, tmp_path: Path, crash_point: str) -> None:
    done = killed_at(database, tmp_path, crash_point)
    (fault,) = done.of("fault")
    (gone,) = done.of("backend-gone")
    assert (fault.crash_point, gone.txn is not None) == (crash_point, True)
    assert [event for event in done.events if event.txn == gone.txn and event.kind in ("transition", "effect")] == []
    assert {job: row.state for job, row in done.stored.context.final_jobs or ()} == dict.fromkeys((1, 2, 3), "done")


@pytest.mark.parametrize("mode", ["stepped", "rounds"])
def test_behind_the_commit_all_is_done(database: Database, tmp_path: Path, mode: str) -> None:
    done = killed_at(database, tmp_path, "after-commit", mode)
    (fault,) = done.of("fault")
    ended = [event.seq < fault.seq for event in done.of("transition", actor=fault.actor, incarnation=fault.incarnation)]
    assert (fault.crash_point, ended) == ("after-commit", [True] * len(ended))
    assert ended


def test_a_scripted_claim_stays_open_until_its_owners_completion(database: Database, tmp_path: Path) -> None:
    steps = ("worker-a claim", "worker-a work-start", "- look", "worker-b claim", "worker-a work-end", "worker-a complete")
    done = run(database, tmp_path, request(script_file(tmp_path, *steps, "- look", jobs=2), DESIGN))
    assert [(event.job, event.blocked_by) for event in done.of("probe", round=3)] == [(1, "worker-a"), (2, None)]
    assert [event.job for event in done.of("read", actor="worker-b")] == [2]
    assert [(event.job, event.to_state) for event in done.of("transition", round=6)] == [(1, "done")]
    assert [(event.job, event.blocked_by) for event in done.of("probe", round=7)] == [(2, "worker-b")]


def test_a_scripted_claim_lets_go_of_the_one_before(database: Database, tmp_path: Path) -> None:
    path = script_file(tmp_path, "worker-a claim", "worker-a claim", "worker-a claim", "worker-a work", jobs=2)
    done = run(database, tmp_path, request(path, DESIGN))
    assert [event.to_state for event in done.of("transition", actor="worker-a")] == ["claimed", "claimed"]
    assert [event.rows for event in done.of("ok", operation="claim", value="1")] == [1, 1, 0, 0]
