"""Schedules as deviations from round-robin, without a database."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from simrunner.model.draws import stream_of
from simrunner.model.tape import KILL, ROUND, STEP, WAKE, Decision
from simrunner.model.view import LaneState
from simrunner.strategies.decider import Decider, SeededDecider, TapeDecider
from simrunner.strategies.deviating import HOLD, Deviating, Deviation, Loose, Noting
from simrunner.strategies.random_walk import RandomWalk
from simrunner.strategies.round_robin import RoundRobin
from tests.strategies.views import lane, standing, view

STEPS = {"worker-a": 4, "worker-b": 4, "recoverer": 2}


def schedule(decider: Decider, steps: dict[str, int] = STEPS) -> list[Decision]:
    """One round in which every actor takes its steps."""
    left, taken = dict(steps), []
    while any(left.values()):
        decision = decider.decide(standing(left, steps))
        taken.append(decision)
        left[decision.actor or ""] -= 1
    return taken


def order(decider: Decider) -> str:
    return "".join((decision.actor or "")[-1] for decision in schedule(decider))


def seeded(seed: int) -> SeededDecider:
    return SeededDecider(RandomWalk(seed), lambda view: None)


def test_without_deviations_it_is_round_robin() -> None:
    assert schedule(Deviating(())) == schedule(SeededDecider(RoundRobin(0), lambda view: None))
    assert order(Deviating(())) == "abrabrabab"


@pytest.mark.parametrize("seed", range(20))
def test_what_was_noted_gives_the_schedule_again(seed: int) -> None:
    noting = Noting(seeded(seed))
    taken = schedule(noting)
    assert schedule(Deviating(noting.deviations)) == taken
    again = Noting(TapeDecider(taken))
    schedule(again)
    assert again.deviations == noting.deviations


def test_round_robin_deviates_in_nothing() -> None:
    noting = Noting(SeededDecider(RoundRobin(0), lambda view: None))
    schedule(noting)
    assert noting.deviations == []


def test_one_step_out_of_turn() -> None:
    assert order(Deviating([Deviation(STEP, 1, 2, "worker-a")])) == "aabrabrabb"


@pytest.mark.parametrize("actor", ["nobody", "worker-z"])
def test_a_deviation_that_cannot_be_is_skipped(actor: str) -> None:
    assert order(Deviating([Deviation(STEP, 1, 2, actor)])) == order(Deviating(()))
    assert order(Deviating([Deviation(STEP, 2, 2, "worker-a")])) == order(Deviating(()))


def test_who_is_put_off_goes_when_nobody_else_can() -> None:
    assert order(Deviating([Deviation(HOLD, 1, 1, "worker-a")])) == "brbrbbaaaa"
    assert order(Deviating([Deviation(HOLD, 1, 4, "worker-b")])) == "abraraabbb"


def test_a_hold_ends_with_its_round() -> None:
    decider = Deviating([Deviation(HOLD, 1, 1, "worker-a")])
    assert decider.decide(view(lane("worker-a"), lane("worker-b"))).actor == "worker-b"
    assert decider.decide(view(lane("worker-a"), lane("worker-b"), number=2)).actor == "worker-a"


def test_a_kill_strikes_once_and_not_before_its_round() -> None:
    here = lane("worker-a", crash_point="after-commit")
    decider = Deviating([Deviation(KILL, 2, 0, "worker-a", "after-commit")])
    assert decider.decide(view(here)).kind == STEP
    assert decider.decide(view(here, number=2)) == Decision(KILL, "worker-a", "after-commit")
    assert decider.decide(view(here, number=2)).kind == STEP


@pytest.mark.parametrize(("at", "state", "label"), [(None, LaneState.BLOCKED, None), ("claim:1", LaneState.PARKED, "claim:1")])
def test_a_kill_where_no_crash_point_is(at: str | None, state: LaneState, label: str | None) -> None:
    decider = Deviating([Deviation(KILL, 1, 0, "worker-a", at)])
    assert decider.decide(view(lane("worker-b"))).kind == STEP
    assert decider.decide(view(lane("worker-a", label, state), lane("worker-b"))).kind == KILL


def test_nobody_is_killed_twice() -> None:
    dead = lane("worker-a", None, LaneState.DEAD, "after-commit")
    decider = Deviating([Deviation(KILL, 1, 0, "worker-a", "after-commit")])
    assert decider.decide(view(dead, lane("worker-b"))) == Decision(STEP, "worker-b", "claim:1")


def test_which_waiter_goes_first() -> None:
    chosen = Deviating([Deviation(WAKE, 1, 2, "worker-b")])
    waiters = ["worker-a", "worker-b"]
    assert [chosen.wake(view(), waiters).actor for _ in range(3)] == ["worker-a", "worker-b", "worker-a"]
    assert Deviating([Deviation(WAKE, 1, 1, "worker-z")]).wake(view(), waiters).actor == "worker-a"


class Choosing(Deviating):
    """Lets a waiter go first that a seed picks."""

    def __init__(self, seed: int) -> None:
        super().__init__(())
        self._draws = stream_of(seed, "waiters")

    def wake(self, view: object, waiters: Sequence[str]) -> Decision:
        return Decision(WAKE, waiters[int(self._draws.random() * len(waiters))])


def test_choices_among_waiters_are_noted() -> None:
    waiters = ["worker-a", "worker-b", "worker-c"]
    noting = Noting(Choosing(3))
    chosen = [noting.wake(view(), waiters) for _ in range(9)]
    assert {one.actor for one in chosen} == set(waiters)
    assert len(noting.deviations) == sum(one.actor != "worker-a" for one in chosen)
    again = Deviating(noting.deviations)
    assert [again.wake(view(), waiters) for _ in range(9)] == chosen


def test_kills_are_noted() -> None:
    here = view(lane("worker-a", crash_point="after-commit"), lane("worker-b"), number=3)
    noting = Noting(TapeDecider([Decision(KILL, "worker-a", "after-commit")]))
    noting.decide(here)
    assert noting.deviations == [Deviation(KILL, 3, 0, "worker-a", "after-commit")]


def test_a_loose_order_passes_over_who_cannot_go() -> None:
    tape = [Decision(ROUND, amount=1)]
    tape += [Decision(STEP, actor, "claim:1") for actor in ("worker-b", "worker-z", "worker-b", "recoverer", "worker-a")]
    assert order(Loose(tape, ()))[:4] == "bbra"


def test_a_loose_order_leaves_out_what_coalesces() -> None:
    labels = ("claim:BEGIN", "work-start", "work-end", "claim:1")
    tape = [Decision(ROUND, amount=1), *(Decision(STEP, "recoverer", label) for label in labels)]
    assert order(Loose(tape, ())) == "r" + "abrababab"
