"""The literal registry of strategies."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from simrunner.strategies.random_walk import RandomWalk
from simrunner.strategies.round_robin import RoundRobin
from simrunner.strategies.strategy import Strategy


class StrategyEntry(NamedTuple):
    """A strategy as users name it."""

    name: str
    title: str
    make: Callable[[int], Strategy]
    """Seed -> strategy."""


STRATEGIES: tuple[StrategyEntry, ...] = (
    StrategyEntry("random", "every enabled actor is equally likely at every step", RandomWalk),
    StrategyEntry("round-robin", "everybody takes one step in turn; the seed only places the faults", RoundRobin),
)
