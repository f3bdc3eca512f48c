"""Placing faults by the seed, and when one strikes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simrunner.config import load_workload
from simrunner.faults import kill, plan
from simrunner.faults.registry import FAULTS
from simrunner.model.draws import Draws
from simrunner.model.operations import WORKER_CRASH_POINTS
from simrunner.model.tape import KILL, Decision
from simrunner.model.view import ArmedFault, LaneState
from simrunner.model.workload import FaultSpec, Workload
from tests.strategies.views import lane, view

WORKERS = ["worker-a", "worker-b", "worker-c"]
AT_COMMIT = FaultSpec("kill", "after-commit")


def workload(*faults: FaultSpec, rounds: int = 10) -> Workload:
    return replace(load_workload("smoke", {"safety.rounds": str(rounds)}), faults=faults)


def armed(seed: int, *faults: FaultSpec, rounds: int = 10) -> list[ArmedFault]:
    return plan.arm(workload(*faults, rounds=rounds), WORKERS, Draws(seed))


def test_the_seed_alone_places_a_fault() -> None:
    assert armed(4, AT_COMMIT) == armed(4, AT_COMMIT)
    places = {(fault.round, fault.actor) for seed in range(200) for fault in armed(seed, AT_COMMIT)}
    assert {actor for _, actor in places} == set(WORKERS)
    assert {number for number, _ in places} == {1, 2, 3, 4, 5}


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_a_short_safety_phase_has_a_first_half_too(rounds: int) -> None:
    assert {fault.round for seed in range(20) for fault in armed(seed, AT_COMMIT, rounds=rounds)} == {1}


def test_every_draw_is_recorded() -> None:
    draws = Draws(1)
    plan.arm(workload(AT_COMMIT, FaultSpec("kill", "before-recover")), WORKERS, draws)
    assert [draw.stream for draw in draws.recorded] == [
        "fault/kill/after-commit/round",
        "fault/kill/after-commit/actor",
        "fault/kill/before-recover/round",
    ]


def test_times_are_placed_one_by_one() -> None:
    placed = armed(3, replace(AT_COMMIT, times=40))
    assert len(placed) == 40
    assert len({(fault.round, fault.actor) for fault in placed}) > 10


def test_a_fault_added_to_a_workload_does_not_move_the_others() -> None:
    other = FaultSpec("kill", "before-claim")
    assert armed(5, other, AT_COMMIT)[1:] == armed(5, AT_COMMIT)


def test_whom_it_strikes() -> None:
    """A named actor; else a worker for a worker's crash point, and whoever passes any other."""
    assert armed(1, FaultSpec("kill", "after-commit", "worker-b"))[0].actor == "worker-b"
    assert armed(1, FaultSpec("kill", "before-recover"))[0].actor is None
    assert all(armed(1, FaultSpec("kill", point))[0].actor in WORKERS for point in WORKER_CRASH_POINTS)


@pytest.mark.parametrize(
    ("number", "point", "state", "actor", "strikes"),
    [
        (4, "after-commit", LaneState.PARKED, "worker-b", True),
        (9, "after-commit", LaneState.PARKED, "worker-b", True),
        (9, "after-commit", LaneState.RESTING, "worker-b", True),
        (3, "after-commit", LaneState.PARKED, "worker-b", False),
        (4, "before-claim", LaneState.PARKED, "worker-b", False),
        (4, None, LaneState.PARKED, "worker-b", False),
        (4, "after-commit", LaneState.BLOCKED, "worker-b", False),
        (4, "after-commit", LaneState.DEAD, "worker-b", False),
        (4, "after-commit", LaneState.PARKED, "worker-c", False),
    ],
)
def test_when_it_strikes(number: int, point: str | None, state: LaneState, actor: str, strikes: bool) -> None:
    waiting = [ArmedFault(AT_COMMIT, 4, "worker-b")]
    standing = view(lane("worker-a"), lane(actor, "work-start", state, point), number=number)
    found = plan.due(waiting, standing)
    assert found == (Decision(KILL, "worker-b", "after-commit") if strikes else None)
    assert len(waiting) == (0 if strikes else 1)


def test_a_fault_of_nobody_strikes_the_first_who_stands_there() -> None:
    waiting = [ArmedFault(FaultSpec("kill", "before-recover"), 1, None)]
    lanes = [lane("worker-a"), lane("recoverer", crash_point="before-recover"), lane("recoverer-2", crash_point="before-recover")]
    assert plan.due(waiting, view(*lanes)) == Decision(KILL, "recoverer", "before-recover")
    assert plan.due(waiting, view(*lanes)) is None


def test_two_faults_strike_one_after_the_other() -> None:
    waiting = [ArmedFault(AT_COMMIT, 1, "worker-b"), ArmedFault(AT_COMMIT, 1, "worker-b")]
    standing = view(lane("worker-b", crash_point="after-commit"))
    assert [plan.due(waiting, standing) is not None for _ in range(3)] == [True, True, False]


def test_a_kill_is_a_command_that_says_where() -> None:
    spec = FaultSpec("kill", "during-work")
    assert kill.FAULT.command(lane("worker-a", crash_point="during-work"), spec) == Decision(KILL, "worker-a", "during-work")
    assert kill.FAULT.strikes(lane("worker-a", crash_point="during-work"), spec)
    assert FAULTS["kill"] is kill.FAULT


def test_a_fault_may_say_when_and_before_which_step() -> None:
    spec = FaultSpec("pause", None, None, at="complete:COMMIT", round=7, rounds=3)
    draws = Draws(1)
    assert plan.arm(workload(spec), WORKERS, draws) == [ArmedFault(spec, 7, None)]
    assert draws.recorded == []
    waiting = [ArmedFault(spec, 7, None)]
    assert plan.due(waiting, view(lane("worker-a", "complete:1"), number=8)) is None
    found = plan.due(waiting, view(lane("worker-a", "claim:1"), lane("worker-b", "complete:COMMIT"), number=8))
    assert found == Decision("pause", "worker-b", "complete:COMMIT", 3)


def test_a_fault_without_a_place_is_of_a_drawn_worker() -> None:
    spec = FaultSpec("pause", rounds=1)
    assert {fault.actor for seed in range(50) for fault in armed(seed, spec)} == set(WORKERS)
    assert plan.due(armed(1, spec, rounds=1), view(*(lane(name) for name in WORKERS))) is not None
