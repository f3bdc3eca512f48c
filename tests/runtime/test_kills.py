"""Kills by decision at every crash point, and kills from outside that nobody decided."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from simrunner.model.operations import CRASH_POINTS
from simrunner.model.verdict import Verdict
from simrunner.runtime.coordinator import Request
from simrunner.runtime.database import Database
from simrunner.runtime.stage import Stage
from tests.runtime.outside import BLOCKED, IN_TRANSACTION, Outside, is_there, kill_between_rounds, kill_when, state_of
from tests.runtime.runs import FAULTS, Run, request, run, workload_file

SETTINGS = {"jobs": "4", "ghost_operations": "", "lease_ms": "4000", "must_exercise": ""}
PRODUCER = "[[producers]]\njobs_per_round = 1\n"
FAULT = '[[faults]]\nkind = "kill"\ncrash_point = "{}"\n'


def with_faults(tmp_path: Path, *points: str, mode: str = "stepped", rounds: int = 4) -> Request:
    faults = "".join(FAULT.format(point) for point in points)
    workload = workload_file(tmp_path, "smoke", [(FAULTS, faults)], PRODUCER)
    return request(workload, settings={**SETTINGS, "safety.rounds": str(rounds)}, mode=mode)


def replayed(database: Database, tmp_path: Path, done: Run, wanted: Request) -> Run:
    """Follow a run's tape in the same database."""
    return run(database, tmp_path, replace(wanted, decisions=done.decisions(), reuse=True))


def watched(
    database: Database, tmp_path: Path, wanted: Request, at: Callable[[Outside], bool] = lambda _: True
) -> tuple[Run, Outside]:
    outside = Outside(database, at)
    try:
        return run(database, tmp_path, wanted, outside.watcher()), outside
    finally:
        outside.close()


@pytest.mark.parametrize("mode", ["stepped", "rounds"])
@pytest.mark.parametrize("point", CRASH_POINTS)
def test_a_kill_at_each_crash_point(database: Database, tmp_path: Path, point: str, mode: str) -> None:
    crash_before = ["after-commit"] if point in ("after-recover-before-commit", "after-recover") else []
    done, outside = watched(database, tmp_path, with_faults(tmp_path, *crash_before, point, mode=mode))
    (fault,) = done.of("fault", value="kill", crash_point=point)
    (ended,) = done.of("process-end", value="SIGKILL", os_pid=fault.os_pid)
    (gone,) = done.of("backend-gone", backend_pid=fault.backend_pid)
    assert fault.seq < ended.seq < gone.seq
    assert (ended.actor, ended.incarnation, gone.session) == (fault.actor, fault.incarnation, fault.session)
    assert outside.left_behind == []
    assert not is_there(fault.os_pid or 0)
    assert done.of("process-start", actor=fault.actor, incarnation=(fault.incarnation or 0) + 1)
    assert done.verdict().verdict is Verdict.VALID


@pytest.mark.parametrize("mode", ["stepped", "rounds"])
def test_a_crash_before_the_commit_leaves_no_trace(database: Database, tmp_path: Path, mode: str) -> None:
    done, _ = watched(database, tmp_path, with_faults(tmp_path, "after-claim-before-commit", mode=mode))
    (fault,) = done.of("fault")
    (read,) = done.of("read", txn=fault.txn)
    assert done.of("transition", txn=fault.txn) == []
    assert done.of("transition", job=read.job, to_state="claimed")[0].generation == 1
    assert done.of("transition", job=read.job, operation="recover") == []


@pytest.mark.parametrize("mode", ["stepped", "rounds"])
def test_a_crash_after_the_commit_needs_recovery(database: Database, tmp_path: Path, mode: str) -> None:
    done, _ = watched(database, tmp_path, with_faults(tmp_path, "after-commit", mode=mode))
    (fault,) = done.of("fault")
    (claim,) = done.of("transition", owner=f"{fault.actor}.{fault.incarnation}", to_state="claimed", token=last_token(done))
    (recovery,) = done.of("transition", job=claim.job, operation="recover")
    assert (recovery.from_state, recovery.to_state, recovery.token) == ("claimed", "ready", claim.token)
    assert recovery.txn_time is not None
    assert claim.lease_until is not None
    assert recovery.txn_time > claim.lease_until
    assert [event.generation for event in done.of("transition", job=claim.job, to_state="done")] == [2]


def last_token(done: Run) -> int | None:
    """Token of the last claim that the killed worker committed."""
    (fault,) = done.of("fault")
    claims = done.of("transition", actor=fault.actor, incarnation=fault.incarnation, to_state="claimed")
    return claims[-1].token if claims else None


PLACES = {
    "parked worker": kill_when("worker-a", IN_TRANSACTION),
    "resting worker": kill_between_rounds("worker-b", 3),
    "parked recoverer": kill_when("recoverer", IN_TRANSACTION),
    "resting recoverer": kill_between_rounds("recoverer", 2),
    "parked producer": kill_when("producer", IN_TRANSACTION),
    "resting producer": kill_between_rounds("producer", 3),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_kill_from_outside_is_recorded_and_replays(database: Database, tmp_path: Path, place: str) -> None:
    wanted = with_faults(tmp_path)
    done, outside = watched(database, tmp_path, wanted, PLACES[place])
    (fault,) = done.of("fault")
    assert fault.value == "unplanned-crash"
    assert (fault.actor or "?").partition("-")[0] in place
    assert done.of("backend-gone", session=fault.session)
    assert outside.left_behind == []
    assert done.verdict().verdict is Verdict.VALID
    assert done.folder.run()["deterministic"] is True
    assert replayed(database, tmp_path, done, wanted).sha256 == done.sha256


@pytest.mark.parametrize("place", [place for place in PLACES if place != "parked worker"])
def test_a_kill_from_outside_in_rounds(database: Database, tmp_path: Path, place: str) -> None:
    done, outside = watched(database, tmp_path, with_faults(tmp_path, mode="rounds"), PLACES[place])
    (fault,) = done.of("fault")
    assert fault.value == "unplanned-crash"
    assert outside.left_behind == []
    assert done.verdict().verdict is Verdict.VALID


def test_a_kill_between_the_phases_replays(database: Database, tmp_path: Path) -> None:
    """The worker died after the last round of one phase: the tape must not put it before the next one began."""
    place = kill_between_rounds("worker-a", 1, "liveness")
    wanted = with_faults(tmp_path, rounds=1)
    done, _ = watched(database, tmp_path, wanted, place)
    (fault,) = done.of("fault")
    assert (fault.phase, fault.round) == ("liveness", 1)
    assert replayed(database, tmp_path, done, wanted).sha256 == done.sha256


def test_a_kill_of_a_blocked_worker_leaves_an_orphan_and_replays(database: Database, tmp_path: Path) -> None:
    workload = workload_file(tmp_path, "smoke", [(FAULTS, "")])
    wanted = request(workload, "mutants/select-then-update", settings={"jobs": "2", "workers": "3", "ghost_operations": ""})
    killed: list[str] = []

    def at(outside: Outside) -> bool:
        for actor in outside.pids:
            if kill_when(actor, BLOCKED)(outside):
                killed.append(actor)
                return True
        return False

    done, _ = watched(database, tmp_path, wanted, at)
    (fault,) = done.of("fault")
    assert [fault.actor] == killed
    (unknown,) = done.of("unknown")
    (gone,) = done.of("backend-gone", session=fault.session)
    blockers = done.of("blocked", session=fault.session)[-1].blocked_by
    freeing = next(event for event in done.of("ok", actor=blockers, value="COMMIT") if event.seq > fault.seq)
    assert fault.seq < unknown.seq < freeing.seq < gone.seq
    assert replayed(database, tmp_path, done, wanted).sha256 == done.sha256


@pytest.mark.parametrize("is_stopped", [False, True])
def test_an_actor_that_is_stopped_from_outside_is_dismissed(database: Database, is_stopped: bool) -> None:
    """It rests after its last round and cannot notice that it may go."""
    wanted = request("smoke")
    with closing(Stage(database, wanted.design, wanted.workload)) as stage:
        one = stage.cast()
        if is_stopped:
            os.kill(one.pid, signal.SIGSTOP)
            while state_of(one.pid) != "T":
                pass
        assert stage.dismiss(one) == "exit"
        assert not is_there(one.pid)
