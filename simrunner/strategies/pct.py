"""PCT: probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010, section 2 and algorithm 1).

Every actor gets a random priority and the enabled one of highest priority always goes. At d - 1 random change points among the
first k steps the actor that would go is lowered below all others. A bug of depth d, that takes d ordering constraints, among n
actors and k steps is found with probability at least 1 / (n k^(d-1)) in one schedule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from simrunner.model.draws import stream_of
from simrunner.model.view import View


class Pct:
    """PCT with bug depth `depth` over about `steps` steps."""

    def __init__(self, seed: int, depth: int, steps: int) -> None:
        self._stream = stream_of(seed, "strategy")
        self._priorities: dict[str, int] = {}
        """Higher goes first. Initial ones lie above `depth`; the change points' are depth - 1 ... 1."""
        self._depth = depth
        self._changes = {self._below(max(steps, 1)) + 1: depth - place for place in range(1, depth)}
        """Step -> the priority to which the actor that would go at it is lowered."""
        self._taken = 0

    def next_actor(self, view: View) -> str:
        """See Strategy."""
        self._know(lane.actor for lane in view.lanes)
        enabled = [lane.actor for lane in view.enabled()]
        self._taken += 1
        lowered = self._changes.get(self._taken)
        if lowered is not None:
            self._priorities[self._highest(enabled)] = lowered
        return self._highest(enabled)

    def next_waiter(self, view: View, waiters: Sequence[str]) -> str:
        """See Strategy: the waiter of highest priority."""
        self._know(lane.actor for lane in view.lanes)
        return self._highest(waiters)

    def _know(self, actors: Iterable[str]) -> None:
        if not self._priorities:
            order = sorted(actors, key=lambda _: self._stream.random())
            self._priorities = {actor: self._depth + place for place, actor in enumerate(order)}

    def _highest(self, actors: Sequence[str]) -> str:
        return max(actors, key=self._priorities.__getitem__)

    def _below(self, bound: int) -> int:
        return int(self._stream.random() * bound)


def detection_probability(depth: int, actors: int, steps: int, schedules: Mapping[int, int]) -> float:
    """Probability with which at least one of some schedules finds a bug of a depth: the bound of the paper's theorem 3.

    `schedules` is how many looked for bugs of each depth. One that looks for deeper bugs finds this one too, with the bound of
    the deeper ones: a bug of depth d is a bug of every greater depth as well.
    """
    missed = 1.0
    for looked_for, number in schedules.items():
        if looked_for >= depth:
            missed *= (1.0 - 1.0 / float(max(actors, 1) * max(steps, 1) ** (looked_for - 1))) ** number
    return 1.0 - missed
