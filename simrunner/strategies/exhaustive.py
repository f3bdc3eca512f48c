"""Exhaustive: every interleaving of the safety phase, crossed with every crash point, depth first.

Each schedule follows a prefix of choices and takes the first option from there on; what it met on its way tells the next
prefix. Nothing is pruned: two schedules may lead to the same state, but the times in its rows differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from simrunner.model.tape import KILL, STEP, WAKE, Decision
from simrunner.model.view import LaneState, LaneView, View
from simrunner.strategies.round_robin import RoundRobin


@dataclass(slots=True)
class ChoicePoint:
    """One decision with alternatives: how many there were, and which was taken."""

    options: int
    taken: int


@dataclass(slots=True)
class ExhaustiveDecider:
    """Follows `prefix` and then takes first options; `met` is the whole path afterwards."""

    prefix: Sequence[int]
    crash_points: frozenset[str]
    """Where an actor may be killed. For membership tests only."""
    kills: int
    """At most so many kills in one schedule."""
    met: list[ChoicePoint] = field(default_factory=list)
    _turns: RoundRobin = field(default_factory=lambda: RoundRobin(0))

    def decide(self, view: View) -> Decision:
        """See Decider. Outside the safety phase there is one way: round-robin."""
        forced = self._forced(view)
        if forced is not None:
            return Decision(STEP, forced.actor, forced.label)
        options = [Decision(STEP, lane.actor, lane.label) for lane in view.enabled()]
        if self.kills:
            options += [Decision(KILL, lane.actor, lane.crash_point) for lane in view.lanes if self._can_die(lane)]
        chosen = options[self._choose(len(options))]
        self.kills -= chosen.kind == KILL
        return chosen

    def wake(self, view: View, waiters: Sequence[str]) -> Decision:
        """See Decider: which waiter goes first is a choice like any other."""
        return Decision(WAKE, waiters[self._choose(len(waiters))])

    def death(self, view: View) -> str | None:
        """See Decider: nobody."""
        return None

    def confirm(self, decision: Decision) -> None:
        """See Decider: nothing to compare with."""

    def next_prefix(self) -> list[int] | None:
        """Return the prefix of the next schedule in depth-first order; None when there is none."""
        path = list(self.met)
        while path and path[-1].taken + 1 == path[-1].options:
            path.pop()
        if not path:
            return None
        return [point.taken for point in path[:-1]] + [path[-1].taken + 1]

    def _forced(self, view: View) -> LaneView | None:
        """The step to which there is no alternative.

        Outside the safety phase, of an actor that only begins its round, and of a recoverer: its say is in the liveness phase.
        """
        enabled = view.enabled()
        if view.phase != "safety":
            actor = self._turns.next_actor(view)
            return next(lane for lane in enabled if lane.actor == actor)
        return next((lane for lane in enabled if lane.label == "round" or lane.actor.startswith("recoverer")), None)

    def _choose(self, options: int) -> int:
        place = len(self.met)
        taken = self.prefix[place] if place < len(self.prefix) else 0
        self.met.append(ChoicePoint(options, taken))
        return taken

    def _can_die(self, lane: LaneView) -> bool:
        return lane.state in (LaneState.PARKED, LaneState.RESTING) and lane.crash_point in self.crash_points
