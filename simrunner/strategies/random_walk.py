"""Random: every enabled actor is equally likely at every step."""

from __future__ import annotations

from collections.abc import Sequence

from simrunner.model.draws import stream_of
from simrunner.model.view import View


class RandomWalk:
    """A uniform random walk over the interleavings, fixed by the seed."""

    def __init__(self, seed: int) -> None:
        self._stream = stream_of(seed, "strategy")

    def next_actor(self, view: View) -> str:
        """See Strategy."""
        return self._pick([lane.actor for lane in view.enabled()])

    def next_waiter(self, view: View, waiters: Sequence[str]) -> str:
        """See Strategy."""
        return self._pick(waiters)

    def _pick(self, actors: Sequence[str]) -> str:
        return actors[int(self._stream.random() * len(actors))]
