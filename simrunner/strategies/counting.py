"""How many schedules an exhaustive search has before it, counted from the steps that each actor takes.

The count is exact where every interleaving gives each actor as many steps; it is an estimate where, say, a claim comes back empty
in some of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod

STATES_MAX = 100_000
"""Beyond so many places of all actors together, the count itself is no longer cheap."""

Turn = tuple[bool, ...]
"""One actor's part of a round: before each of its steps, and at rest behind the last, whether it may be killed there."""

_DEAD = -1


def interleavings(rounds: Sequence[Sequence[Turn]], kills: int) -> int | None:
    """Return the number of schedules with at most so many kills, or None if counting them would take too long."""
    if any(prod(len(turn) + 1 for turn in turns) * (kills + 1) > STATES_MAX for turns in rounds):
        return None
    ways = [1, *[0] * kills]
    for turns in rounds:
        one = [_ways(tuple(turns), number) for number in range(kills + 1)]
        ways = [sum(ways[before] * one[number - before] for before in range(number + 1)) for number in range(kills + 1)]
    return sum(ways)


def _ways(turns: Sequence[Turn], kills: int) -> int:
    """The ways to play one round with exactly so many kills."""

    @cache
    def count(places: tuple[int, ...], left: int) -> int:
        parked = [number for number, place in enumerate(places) if 0 <= place < len(turns[number]) - 1]
        if not parked:
            return int(left == 0)
        found = sum(count(_moved(places, number, places[number] + 1), left) for number in parked)
        mortal = [number for number, place in enumerate(places) if place != _DEAD and turns[number][place]] if left else []
        return found + sum(count(_moved(places, number, _DEAD), left - 1) for number in mortal)

    return count((0,) * len(turns), kills)


def _moved(places: tuple[int, ...], number: int, place: int) -> tuple[int, ...]:
    return (*places[:number], place, *places[number + 1 :])
