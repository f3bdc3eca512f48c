"""Who decides: the seed, or a tape that is followed to the first step that differs."""

from __future__ import annotations

import pytest

from simrunner.errors import Divergence
from simrunner.model.tape import ADVANCE, KILL, ROUND, STEP, UNPLANNED, WAKE, Decision
from simrunner.model.view import LaneState
from simrunner.strategies.decider import SeededDecider, TapeDecider
from simrunner.strategies.round_robin import RoundRobin
from tests.strategies.views import lane, parked, view

TWO = view(lane("a", "claim:BEGIN"), lane("b", "complete:COMMIT", crash_point="after-complete-before-commit"))


def test_the_seed_names_what_the_actor_is_about_to_do() -> None:
    decider = SeededDecider(RoundRobin(1), lambda _: None)
    assert decider.decide(TWO) == Decision(STEP, "a", "claim:BEGIN")
    assert decider.decide(TWO) == Decision(STEP, "b", "complete:COMMIT")
    assert decider.wake(TWO, ["b", "a"]) == Decision(WAKE, "b")
    assert decider.death(TWO) is None
    decider.confirm(Decision(ROUND, amount=3))


def test_a_fault_that_is_due_goes_before_the_strategy() -> None:
    faults = [Decision(KILL, "b", "x")]
    decider = SeededDecider(RoundRobin(1), lambda _: faults.pop() if faults else None)
    assert [decider.decide(TWO).kind for _ in range(2)] == [KILL, STEP]


def test_a_tape_is_followed() -> None:
    tape = [
        Decision(ROUND, amount=1),
        Decision(STEP, "b", "complete:COMMIT"),
        Decision(WAKE, "a"),
        Decision(KILL, "b", "after-complete-before-commit"),
    ]
    decider = TapeDecider(tape)
    decider.confirm(tape[0])
    assert decider.decide(TWO) == tape[1]
    assert decider.wake(TWO, ["a", "c"]) == tape[2]
    assert decider.death(TWO) is None
    assert decider.decide(TWO) == tape[3]


@pytest.mark.parametrize(
    ("decision", "words"),
    [
        (Decision(STEP, "a", "claim:1"), "step 1: the tape says step a claim:1, but a is parked at claim:BEGIN"),
        (Decision(STEP, "c", "claim:1"), "c is not there"),
        (Decision(KILL, "a", "after-commit"), "a is parked at claim:BEGIN"),
        (Decision(ADVANCE, amount=5), "the tape says advance 5, but a step is due"),
        (Decision(ROUND, amount=2), "a step is due"),
        (Decision(WAKE, "a"), "a step is due"),
    ],
)
def test_it_stops_at_the_first_step_that_differs(decision: Decision, words: str) -> None:
    with pytest.raises(Divergence, match=words):
        TapeDecider([decision]).decide(TWO)


@pytest.mark.parametrize("state", [LaneState.BLOCKED, LaneState.RESTING, LaneState.DEAD])
def test_a_step_needs_a_parked_actor(state: LaneState) -> None:
    with pytest.raises(Divergence, match=f"a is {state}"):
        TapeDecider([Decision(STEP, "a", "claim:1")]).decide(view(lane("a", state=state)))


def test_a_kill_needs_a_process() -> None:
    with pytest.raises(Divergence, match="a is dead"):
        TapeDecider([Decision(KILL, "a", None)]).decide(view(lane("a", None, LaneState.DEAD)))


@pytest.mark.parametrize("state", [LaneState.BLOCKED, LaneState.RESTING, LaneState.PARKED])
def test_an_unplanned_death_happens_wherever_the_actor_stands(state: LaneState) -> None:
    decider = TapeDecider([Decision(KILL, "a", UNPLANNED), Decision(KILL, "a", UNPLANNED)])
    standing = view(lane("a", state=state))
    assert [decider.death(standing), decider.death(standing), decider.death(standing)] == ["a", "a", None]


def test_a_waiter_must_be_one() -> None:
    for decision in (Decision(WAKE, "c"), Decision(STEP, "a", "claim:1")):
        with pytest.raises(Divergence, match="a choice among the waiters a, b is due"):
            TapeDecider([decision]).wake(parked("a", "b", "c"), ["a", "b"])


def test_what_follows_from_the_workload_is_compared() -> None:
    with pytest.raises(Divergence, match="the tape says round 2, but round 3 is due"):
        TapeDecider([Decision(ROUND, amount=2)]).confirm(Decision(ROUND, amount=3))


def test_a_tape_that_is_too_short() -> None:
    decider = TapeDecider([Decision(STEP, "a", "claim:BEGIN")])
    decider.decide(TWO)
    assert decider.death(TWO) is None
    with pytest.raises(Divergence, match="the tape ends after 1 decisions"):
        decider.decide(TWO)
