"""Delay-bounded scheduling (Emmi, Qadeer, Rakamaric, POPL 2011): round-robin, but for a bounded number of delays.

A delay makes the actor whose turn it is wait until the next time round. Few delays reach most bugs, and how few is a measure
of how simple a failing schedule is.
"""

from __future__ import annotations

from collections.abc import Sequence

from simrunner.model.draws import stream_of
from simrunner.model.view import View
from simrunner.strategies.round_robin import RoundRobin


class DelayBounded:
    """Round-robin with `delays` delays at random places among about `steps` steps."""

    def __init__(self, seed: int, delays: int, steps: int) -> None:
        stream = stream_of(seed, "strategy")
        self._stream = stream
        self._turns = RoundRobin(seed)
        places = [int(stream.random() * max(steps, 1)) + 1 for _ in range(delays)]
        self._delays = {place: places.count(place) for place in places}
        """Step -> delays at it."""
        self._taken = 0

    def next_actor(self, view: View) -> str:
        """See Strategy."""
        self._taken += 1
        actor = self._turns.next_actor(view)
        for _ in range(self._delays.get(self._taken, 0)):
            actor = self._turns.next_actor(view)
        return actor

    def next_waiter(self, view: View, waiters: Sequence[str]) -> str:
        """See Strategy."""
        return waiters[int(self._stream.random() * len(waiters))]
