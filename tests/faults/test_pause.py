"""Pause: the process is stopped for real, its locks stay, and it goes on where it stood."""

from __future__ import annotations

from pathlib import Path

import pytest

from simrunner.model.tape import PAUSE
from simrunner.model.verdict import Verdict
from simrunner.runtime.database import Database
from tests.faults.repeats import histories, repeated, root_causes, struck
from tests.runtime.outside import IN_TRANSACTION, Outside, state_of
from tests.runtime.runs import request, run

WORKLOAD = "stale-owner"
STOPPED = "T"
END = "end of pause"


def test_ten_runs_are_one_history_and_the_reference_refuses_the_stale_owner(database: Database) -> None:
    runs = repeated(database, WORKLOAD)
    assert len(histories(runs)) == 1
    assert root_causes(runs) == {None}
    kinds = [kind for kind, _ in struck(runs[0])]
    assert sorted(kind or "" for kind in kinds) == [END, END, PAUSE, PAUSE]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_completion_that_is_not_fenced_is_named(database: Database, seed: int) -> None:
    assert root_causes(repeated(database, WORKLOAD, "mutants/unfenced-completion", times=1, seed=seed)) == {"fenced-writes"}


def test_the_process_is_stopped_and_its_lock_stays(database: Database, tmp_path: Path) -> None:
    """Seen from /proc and pg_stat_activity: from the fault to its end the process is stopped, its transaction open."""
    seen: list[tuple[int, dict[str, str], list[int]]] = []

    def at(outside: Outside) -> bool:
        states = {actor: state_of(pid) for actor, pid in outside.pids.items()}
        stopped = [actor for actor, state in states.items() if state == STOPPED]
        open_ones = [pid for actor in stopped if (pid := outside.backend(actor, IN_TRANSACTION)) is not None]
        seen.append((outside.round if outside.phase == "safety" else 99, states, open_ones))
        return False

    outside = Outside(database, at)
    try:
        done = run(database, tmp_path, request(WORKLOAD, settings={"faults.0.times": "1"}), outside.watcher())
    finally:
        outside.close()
    for fault in done.of("fault", value=PAUSE):
        end = done.of("fault", value=END, actor=fault.actor)[0]
        assert (end.round or 0) - (fault.round or 0) == 6
        between = [states for number, states, _ in seen if (fault.round or 0) < number < (end.round or 0)]
        assert between
        assert {states[fault.actor or ""] for states in between} == {STOPPED}
        if fault.crash_point == "after-claim-before-commit":
            held = [pids for number, _, pids in seen if (fault.round or 0) < number < (end.round or 0)]
            assert all(fault.backend_pid in pids for pids in held)
    assert STOPPED not in seen[-1][1].values()
    assert done.verdict().verdict is Verdict.VALID


def test_a_pause_ends_with_the_safety_phase(database: Database) -> None:
    """A pause that is longer than the phase: in the liveness phase everybody goes on, in the middle of what it did."""
    settings = {"faults.0.rounds": "50", "faults.1.rounds": "50"}
    runs = repeated(database, WORKLOAD, times=1, settings=settings)
    assert len(histories(runs)) == 1
    assert root_causes(runs) == {None}
    ends = [event for event in runs[0].memory.events if event.value == END]
    assert [event.phase for event in ends] == ["liveness"] * 2


def test_others_wait_for_a_paused_owner_until_it_goes_on(database: Database) -> None:
    """A claim that does not skip locked rows waits behind the paused one for rounds, and is freed by its COMMIT."""
    runs = repeated(database, WORKLOAD, "mutants/naive-subquery", times=2, seed=2)
    assert len(histories(runs)) == 1
    events = runs[0].memory.events
    waits = [(event, next(end for end in events if end.kind == "freed" and end.seq > event.seq and end.actor == event.actor))
             for event in events if event.kind == "blocked"]  # fmt: skip
    assert any((freed.round or 0) - (blocked.round or 0) >= 5 for blocked, freed in waits)
