"""Concurrent rounds: who gets which job is a race, and what a run asserts does not depend on it. A poisoned barrier is left."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from simrunner.errors import StepStuck
from simrunner.limits import LIMITS
from simrunner.model.event import OBSERVER
from simrunner.model.verdict import Verdict
from simrunner.runtime import race, stage
from simrunner.runtime.coordinator import Request
from simrunner.runtime.database import Database
from simrunner.runtime.race import Race
from simrunner.runtime.world import World
from tests.runtime.outside import kill_for_good, state_of
from tests.runtime.runs import FAULTS, request, run, workload_file

QUICK = {"safety.rounds": "6", "jobs": "9"}
PLAIN = {"workers": "3", "jobs": "9", "must_exercise": "", "safety.rounds": "4"}


def concurrent(tmp_path: Path) -> Request:
    return request(workload_file(tmp_path, "smoke", [(FAULTS, "")]), settings=PLAIN, mode="rounds")


def test_races_are_valid_whoever_wins(database: Database, tmp_path: Path) -> None:
    """Twenty races of the deep queue, each with a crash before and one after the commit."""
    for seed in range(20):
        done = run(database, tmp_path, request("high-depth", seed=seed, settings=QUICK, mode="rounds", reuse=seed > 0))
        verdict = done.verdict()
        assert [line for line in verdict.certificate if not line[1]] == []
        assert verdict.root_cause is None
        assert verdict.verdict is Verdict.VALID
        assert {event.crash_point for event in done.of("fault")} == {"after-claim-before-commit", "after-commit"}
        assert done.folder.run()["deterministic"] is False


def test_every_worker_has_one_claim_in_each_round(database: Database, tmp_path: Path) -> None:
    done = run(database, tmp_path, concurrent(tmp_path))
    for number in (1, 2, 3):
        claims = done.of("sent", operation="claim", value="1", round=number)
        assert sorted(event.actor or "" for event in claims) == ["worker-a", "worker-b", "worker-c"]
        assert len(done.of("transition", to_state="claimed", round=number)) == 3


def test_a_change_follows_the_commit_that_made_it_durable(database: Database, tmp_path: Path) -> None:
    done = run(database, tmp_path, concurrent(tmp_path))
    changes = [event for event in done.events if event.kind in ("transition", "effect") and event.round]
    assert len(changes) > 20
    for event in changes:
        before = done.events[event.seq - 2]
        assert before.txn == event.txn
        assert (before.kind, before.value) == ("ok", "COMMIT") or before in changes


class Barrier:
    """Breaks a round: one worker is kept out of the barrier, another is killed inside, then the first may go on."""

    def __init__(self, times: int = 1) -> None:
        self.times = times
        self.broken: list[tuple[str, int]] = []

    def release(self, world: World, race_: Race) -> None:
        if len(self.broken) >= self.times:
            return _RELEASE(world, race_)
        pids = [lane.process.pid for lane in race_.workers if lane.process]
        os.kill(pids[0], signal.SIGSTOP)
        while state_of(pids[0]) != "T":
            pass
        _RELEASE(world, race_)
        while not _waits_inside(pids[1]):
            pass
        kill_for_good(pids[1])
        self.broken.append((race_.workers[1].actor, race_.number))
        os.kill(pids[0], signal.SIGCONT)
        return None


_RELEASE = race._release


def _waits_inside(pid: int) -> bool:
    """Whether a worker sleeps on a semaphore (futex) rather than on its gate."""
    return "futex" in Path(f"/proc/{pid}/wchan").read_text() or Path(f"/proc/{pid}/syscall").read_text().startswith("202 ")


def break_rounds(monkeypatch: pytest.MonkeyPatch, times: int) -> Barrier:
    barrier = Barrier(times)
    monkeypatch.setattr(race, "_release", barrier.release)
    return barrier


def test_a_worker_killed_inside_the_barrier(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It poisons the barrier: those that it leaves inside are killed and recorded, and the next round has a fresh barrier."""
    barrier = break_rounds(monkeypatch, 1)
    done = run(database, tmp_path, concurrent(tmp_path))
    ((victim, number),) = barrier.broken
    faults = [(event.actor, event.value) for event in done.of("fault")]
    assert victim in [actor for actor, _ in faults]
    assert {value for _, value in faults} <= {"unplanned-crash", "barrier-stuck"}
    assert ("worker-a", "barrier-stuck") in faults
    assert {event.round for event in done.of("fault")} == {number}
    assert len(done.of("backend-gone")) == len(faults)
    assert len(done.of("sent", operation="claim", value="1", round=number + 1)) == 3
    assert done.verdict().verdict is Verdict.VALID


def test_rounds_that_break_for_ever_end_the_run(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "LIMITS", replace(LIMITS, barriers=2))
    break_rounds(monkeypatch, 100)
    with pytest.raises(StepStuck, match="2 rounds were broken by workers that died at the barrier"):
        run(database, tmp_path, concurrent(tmp_path))


def test_a_concurrent_round_begins_with_the_candidates_that_its_claims_can_take(database: Database, tmp_path: Path) -> None:
    wanted = request(workload_file(tmp_path, "smoke", [(FAULTS, "")]), settings=PLAIN | {"safety.rounds": "3"}, mode="rounds")
    done = run(database, tmp_path, wanted)
    for number, ahead in enumerate(([1, 2, 3, 4], [4, 5, 6, 7], [7, 8, 9]), 1):
        seen = done.of("probe", actor=OBSERVER, round=number)
        assert ([event.job for event in seen], [event.rank for event in seen]) == (ahead, list(range(1, len(ahead) + 1)))
        assert seen[-1].seq < min(event.seq for event in done.of("sent", round=number))
