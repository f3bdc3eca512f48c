"""The literal registry of strategies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from simrunner.strategies.delay_bounded import DelayBounded
from simrunner.strategies.pct import Pct
from simrunner.strategies.random_walk import RandomWalk
from simrunner.strategies.round_robin import RoundRobin
from simrunner.strategies.strategy import Strategy


@dataclass(frozen=True, slots=True)
class StrategyOptions:
    """What some strategies need to know besides the seed."""

    depth: int = 3
    """pct: bug depth, the number of ordering constraints that a bug takes."""
    delays: int = 2
    """delay-bounded: how often somebody's turn is put off."""
    steps: int = 200
    """pct, delay-bounded: about how many decisions a schedule has."""


class StrategyEntry(NamedTuple):
    """A strategy as users name it."""

    name: str
    title: str
    make: Callable[[int, StrategyOptions], Strategy]
    """(seed, options) -> strategy."""


STRATEGIES: tuple[StrategyEntry, ...] = (
    StrategyEntry("random", "every enabled actor is equally likely at every step", lambda seed, _: RandomWalk(seed)),
    StrategyEntry(
        "round-robin", "everybody takes one step in turn; the seed only places the faults", lambda seed, _: RoundRobin(seed)
    ),
    StrategyEntry(
        "pct",
        "random priorities with few change points: finds bugs of small depth with a known probability",
        lambda seed, options: Pct(seed, options.depth, options.steps),
    ),
    StrategyEntry(
        "delay-bounded",
        "round-robin, but for a few delays at random places",
        lambda seed, options: DelayBounded(seed, options.delays, options.steps),
    ),
)
