"""Round-robin: everybody takes one step in turn. The baseline from which other schedules deviate."""

from __future__ import annotations

from collections.abc import Sequence

from simrunner.model.view import View


class RoundRobin:
    """Goes through the actors in declared order; the seed does not matter."""

    def __init__(self, seed: int) -> None:
        self._last = -1

    def next_actor(self, view: View) -> str:
        """See Strategy."""
        enabled = [lane.actor for lane in view.enabled()]
        order = [lane.actor for lane in view.lanes]
        turn = next((actor for actor in enabled if order.index(actor) > self._last), enabled[0])
        self._last = order.index(turn)
        return turn

    def next_waiter(self, view: View, waiters: Sequence[str]) -> str:
        """See Strategy: the first in declared order."""
        return waiters[0]
