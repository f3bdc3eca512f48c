"""Strategies: they choose among those that can be chosen, and the seed alone decides."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from simrunner.model.view import LaneState
from simrunner.strategies.pct import Pct
from simrunner.strategies.registry import STRATEGIES, StrategyEntry, StrategyOptions
from simrunner.strategies.round_robin import RoundRobin
from simrunner.strategies.strategy import Strategy
from tests.strategies.views import lane, parked, standing, view

OPTIONS = StrategyOptions()


def schedule(strategy: Strategy, steps: dict[str, int]) -> list[str]:
    """Who goes, until all steps are taken."""
    left = dict(steps)
    taken = []
    while any(left.values()):
        actor = strategy.next_actor(standing(left, steps))
        left[actor] -= 1
        taken.append(actor)
    return taken


@pytest.mark.parametrize("entry", STRATEGIES, ids=lambda entry: entry.name)
def test_only_the_seed_decides(entry: StrategyEntry) -> None:
    steps = dict.fromkeys("abc", 20)
    first, again = (schedule(entry.make(7, OPTIONS), steps) for _ in range(2))
    assert first == again
    assert Counter(first) == steps


@pytest.mark.parametrize("entry", [entry for entry in STRATEGIES if entry.name != "round-robin"], ids=lambda entry: entry.name)
def test_seeds_differ(entry: StrategyEntry) -> None:
    steps = dict.fromkeys("abc", 20)
    assert len({tuple(schedule(entry.make(seed, OPTIONS), steps)) for seed in range(10)}) > 5


@pytest.mark.parametrize("entry", STRATEGIES, ids=lambda entry: entry.name)
def test_nobody_else_is_chosen(entry: StrategyEntry) -> None:
    """Blocked, resting and dead actors, whatever their turn."""
    strategy = entry.make(3, OPTIONS)
    states = [LaneState.BLOCKED, LaneState.RESTING, LaneState.DEAD, LaneState.PARKED]
    for turn in range(40):
        lanes = [lane(name, state=states[(place + turn) % 4]) for place, name in enumerate("abcd")]
        (enabled,) = [one.actor for one in lanes if one.state is LaneState.PARKED]
        assert strategy.next_actor(view(*lanes)) == enabled


@pytest.mark.parametrize("entry", STRATEGIES, ids=lambda entry: entry.name)
def test_a_waiter_goes_first(entry: StrategyEntry) -> None:
    strategy = entry.make(3, OPTIONS)
    for waiters in (["b", "c"], ["c", "a"], ["a", "b", "c"]) * 5:
        assert strategy.next_waiter(parked("a", "b", "c"), waiters) in waiters


def test_the_registry_has_no_name_twice() -> None:
    assert len({entry.name for entry in STRATEGIES}) == len(STRATEGIES)


def test_random_chooses_everybody_about_equally() -> None:
    strategy = STRATEGIES[0].make(1, OPTIONS)
    counts = Counter(strategy.next_actor(parked("a", "b", "c", "d")) for _ in range(4000))
    assert all(900 < count < 1100 for count in counts.values())
    waiters = Counter(strategy.next_waiter(parked("a", "b"), ["a", "b"]) for _ in range(2000))
    assert all(900 < count < 1100 for count in waiters.values())


def test_round_robin_takes_turns_and_skips_who_cannot() -> None:
    strategy = RoundRobin(1)
    assert [strategy.next_actor(parked("a", "b", "c")) for _ in range(4)] == ["a", "b", "c", "a"]
    blocked = view(lane("a"), lane("b", state=LaneState.BLOCKED), lane("c"))
    assert [strategy.next_actor(blocked) for _ in range(3)] == ["c", "a", "c"]


def test_delays_put_off_a_turn() -> None:
    """Without delays it is round-robin; with them it differs, but for few places."""
    entry = next(entry for entry in STRATEGIES if entry.name == "delay-bounded")
    steps = dict.fromkeys("abc", 6)
    plain = schedule(RoundRobin(0), steps)
    assert schedule(entry.make(5, StrategyOptions(delays=0)), steps) == plain
    assert any(schedule(entry.make(seed, StrategyOptions(delays=1, steps=18)), steps) != plain for seed in range(5))


def test_pct_without_change_points_runs_one_actor_after_another() -> None:
    taken = schedule(Pct(4, depth=1, steps=60), dict.fromkeys("abc", 20))
    assert [len(list(taken[start : start + 20])) for start in (0, 20, 40)] == [20] * 3
    assert all(len(set(taken[start : start + 20])) == 1 for start in (0, 20, 40))


def test_pct_switches_at_most_so_often_as_it_may() -> None:
    """Depth d has d - 1 change points: among n actors that is at most n - 1 + d - 1 switches."""
    for seed in range(30):
        taken = schedule(Pct(seed, depth=4, steps=60), dict.fromkeys("abc", 20))
        switches = sum(1 for one, other in pairwise(taken) if one != other)
        assert switches <= 2 + 3
