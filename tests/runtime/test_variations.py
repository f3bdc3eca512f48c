"""Runs that differ from the everyday one: isolation levels, batches, a deep backlog, an older server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simrunner.config import load_workload
from simrunner.model.job import JobState
from simrunner.model.verdict import Verdict
from simrunner.runtime import server
from simrunner.runtime.actors import lanes_of
from simrunner.runtime.database import Database, create
from tests.runtime.runs import FAULTS, ROOT, Run, design_folder, request, run, workload_file


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_a_serialization_failure_ends_an_opportunity_not_the_worker(database: Database, tmp_path: Path, level: str) -> None:
    """A claim that read before another's COMMIT fails with 40001; its worker goes on in the next round."""
    claim = (ROOT / "sql/mutants/select-then-update/claim.sql").read_text()
    design = design_folder(tmp_path, {"claim": claim}, f'isolation = "{level}"\n')
    workload = workload_file(tmp_path, "smoke", [(FAULTS, "")])
    done = run(
        database, tmp_path, request(workload, design, seed=1, settings={"jobs": "4", "workers": "3", "ghost_operations": ""})
    )
    failed = done.of("failed")
    assert {event.sqlstate for event in failed} == {"40001"}
    for event in failed:
        after = [other for other in done.events if other.seq > event.seq and other.actor == event.actor]
        if event.value != "COMMIT":
            assert (after[0].kind, after[0].value) == ("sent", "ROLLBACK")
        assert done.of("transition", txn=event.txn) == []
        later = [other for other in after if other.operation == "claim" and other.txn != event.txn]
        assert later, f"{event.actor} took no further claim"
    assert done.of("process-end", value="SIGKILL") == []
    assert len(done.of("transition", to_state="done")) == 4


def test_serializable_claims_of_different_jobs(database: Database, tmp_path: Path) -> None:
    """The reference under SERIALIZABLE: whatever fails leaves no trace, and all jobs end."""
    design = design_folder(tmp_path, {}, 'isolation = "serializable"\n')
    done = run(database, tmp_path, request("smoke", design, settings={"jobs": "6", "workers": "3", "must_exercise": ""}))
    assert done.verdict().verdict is Verdict.VALID
    assert {event.sqlstate for event in done.of("failed")} <= {"40001"}


def test_a_batch_of_three(database: Database, tmp_path: Path) -> None:
    """One claim, one token, three jobs, each worked on; a crash in the midst loses none of them."""
    done = run(database, tmp_path, request("smoke", design_folder(tmp_path, {}, "[promises]\nbatch = 3\n"), settings=BATCH))
    first = done.of("transition", to_state="claimed")[:3]
    assert len({(event.token, event.txn) for event in first}) == 1
    assert sorted(event.job or 0 for event in first) == [1, 2, 3]
    assert [event.rows for event in done.of("ok", operation="claim", value="1", txn=first[0].txn)] == [3]
    assert len(done.of("read", operation="claim", txn=first[0].txn)) == 3
    assert done.verdict().verdict is Verdict.VALID


BATCH = {"batch": "3", "jobs": "9", "must_exercise": ""}


def test_a_ghost_replays_every_claim_of_a_batch(database: Database, tmp_path: Path) -> None:
    """All jobs of a batch have one token: a ghost that knows claims by token alone would forget two of three."""
    settings = {"batch": "3", "jobs": "6", "workers": "2", "backlog": "30", "min_backlog": "0", "must_exercise": ""}
    workload = workload_file(
        tmp_path, "high-depth", [('[[faults]]\nkind = "kill"\ncrash_point = "after-claim-before-commit"\n', "")]
    )
    done = run(database, tmp_path, request(workload, design_folder(tmp_path, {}, "[promises]\nbatch = 3\n"), settings=settings))
    (fault,) = done.of("fault")
    held = {event.job for event in done.of("read", operation="claim", actor=fault.actor, incarnation=fault.incarnation)}
    ended = {event.job for event in done.of("transition", to_state="done", actor=fault.actor, incarnation=fault.incarnation)}
    replayed = {event.job for event in done.of("ok", actor="ghost", operation="complete", value="1")}
    assert len(held - ended) == 3
    assert replayed == held - ended
    assert {event.rows for event in done.of("ok", actor="ghost", operation="complete", value="1")} == {0}


def test_a_recovered_job_goes_behind_a_deep_backlog(database: Database, tmp_path: Path) -> None:
    """Its new rank is recorded, and it is the number of ready jobs ahead of it, counted anew from the history."""
    settings = {"backlog": "2000", "backlog_priority": "0", "jobs": "5", "liveness.rounds": "6"}
    done = run(database, tmp_path, request("smoke", settings=settings))
    (recovered,) = done.of("transition", operation="recover", to_state="ready")
    keys = ready_keys(done, recovered.seq)
    assert recovered.job in keys
    assert recovered.rank == 1 + sum(key < keys[recovered.job] for key in keys.values())
    assert recovered.rank == len(keys) > 1990
    assert [event.rank for event in done.of("seed")] == list(range(1, 2006))


def ready_keys(done: Run, seq: int) -> dict[int | None, list[int]]:
    """Order key of every job that is ready just after an event, from the seeds and transitions up to it."""
    keys: dict[int | None, list[int]] = {}
    for event in done.events[:seq]:
        if event.kind in ("seed", "transition", "renewal"):
            keys.pop(event.job, None)
            if event.to_state == JobState.READY:
                keys[event.job] = json.loads(event.order_key or "")
    return keys


def test_postgresql_16(tmp_path: Path) -> None:
    with server.embedded(16) as cluster, create(cluster, "older") as database:
        assert cluster.version_text.startswith("PostgreSQL 16")
        done = run(database, tmp_path, request("smoke"))
        again = run(database, tmp_path, request("smoke", reuse=True))
    assert done.verdict().verdict is Verdict.VALID
    assert again.sha256 == done.sha256


def test_more_workers_than_letters() -> None:
    names = [lane.actor for lane in lanes_of(load_workload("smoke", {"workers": "55"}))]
    assert [names[place] for place in (0, 25, 26, 27, 51, 52, 54)] == [
        f"worker-{letters}" for letters in ("a", "z", "aa", "ab", "az", "ba", "bc")
    ]
    assert len(set(names)) == len(names)


def test_nobody_recovers(database: Database, tmp_path: Path) -> None:
    """Without recovery the dead worker's job is never offered again: the run ends at its bound and says so."""
    done = run(database, tmp_path, request("smoke", settings={"recoverers": "0", "liveness.rounds": "3"}))
    assert done.verdict().root_cause == "no-job-lost"
