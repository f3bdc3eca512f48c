"""Exhaustive: every interleaving of the safety phase, crossed with every crash point, depth first.

Each schedule follows a prefix of choices and takes the first option from there on; what it met on its way tells the next
prefix. Nothing is pruned: two schedules may lead to the same state, but the times in its rows differ, and leases hang on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace

from simrunner.model.tape import KILL, STEP, WAKE, Decision
from simrunner.model.view import LaneState, LaneView, View
from simrunner.strategies.round_robin import RoundRobin

ROUND_LABEL = "round"
"""Label of the step with which an actor only hears what to do in a round: when it does, nobody can notice."""


@dataclass(slots=True)
class ExhaustiveDecider:
    """Follows `prefix` and then takes first options; `met` is the whole path afterwards.

    The first options are steps of actors in declared order, then kills: so the first schedule has neither a switch nor a kill.
    """

    prefix: Sequence[int]
    crash_points: frozenset[str]
    """Where an actor may be killed. For membership tests only."""
    kills: int
    """At most so many kills in one schedule."""
    first: frozenset[str] = frozenset()
    """Actors that take their steps at the beginning of a round, without a choice, and are never killed."""
    met: list[tuple[int, int]] = field(default_factory=list)
    """(options, taken) at every choice so far."""
    _turns: RoundRobin = field(default_factory=lambda: RoundRobin(0))

    def __deepcopy__(self, memo: object) -> ExhaustiveDecider:
        """Each schedule uses up a copy: made by hand, it costs a twentieth."""
        return replace(self, met=list(self.met), _turns=copy(self._turns))

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

    def _forced(self, view: View) -> LaneView | None:
        """The step to which there is no alternative: outside the safety phase, and of an actor that only begins its round."""
        enabled = view.enabled()
        if view.phase != "safety":
            actor = self._turns.next_actor(view)
            return next(lane for lane in enabled if lane.actor == actor)
        return next((lane for lane in enabled if lane.label == ROUND_LABEL or lane.actor in self.first), None)

    def _choose(self, options: int) -> int:
        place = len(self.met)
        taken = self.prefix[place] if place < len(self.prefix) else 0
        self.met.append((options, taken))
        return taken

    def _can_die(self, lane: LaneView) -> bool:
        stands = lane.state in (LaneState.PARKED, LaneState.RESTING) and lane.actor not in self.first
        return stands and lane.crash_point in self.crash_points


def next_prefix(path: Sequence[tuple[int, int]]) -> list[int] | None:
    """Return the prefix of the schedule that follows a path of (options, taken) in depth-first order; None: it was the last."""
    places = len(path)
    while places and path[places - 1][1] + 1 == path[places - 1][0]:
        places -= 1
    if not places:
        return None
    return [taken for _, taken in path[: places - 1]] + [path[places - 1][1] + 1]
