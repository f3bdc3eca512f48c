"""Plays round-robin and keeps what an exhaustive search would have to choose from: see `strategies.counting`."""

from __future__ import annotations

from collections.abc import Sequence

from simrunner.model.tape import STEP, Decision
from simrunner.model.view import View
from simrunner.strategies.counting import Turn
from simrunner.strategies.decider import SeededDecider
from simrunner.strategies.exhaustive import ROUND_LABEL
from simrunner.strategies.round_robin import RoundRobin

BEFORE_COMMIT = "-before-commit"


class Surveyor(SeededDecider):
    """Round-robin without faults; `rounds` are the turns that were taken in the safety phase."""

    def __init__(self, crash_points: frozenset[str], first: frozenset[str]) -> None:
        super().__init__(RoundRobin(0), lambda view: None)
        self._crash_points = crash_points
        self._first = first
        self._points: dict[int, dict[str, list[str | None]]] = {}
        """Round -> actor -> the crash point at which it stood before each of its steps, if any."""

    def decide(self, view: View) -> Decision:
        """See Decider."""
        decision = super().decide(view)
        lane = next(lane for lane in view.lanes if lane.actor == decision.actor)
        chosen = view.phase == "safety" and decision.kind == STEP and decision.label != ROUND_LABEL
        if chosen and lane.actor not in self._first:
            self._points.setdefault(view.round, {}).setdefault(lane.actor, []).append(lane.crash_point)
        return decision

    @property
    def rounds(self) -> list[list[Turn]]:
        """The turns of each round."""
        return [[self._turn(points) for points in actors.values()] for actors in self._points.values()]

    def _turn(self, points: Sequence[str | None]) -> Turn:
        # a program rests at a crash point exactly if it had something to commit
        at_rest = (points[-1] or "").endswith(BEFORE_COMMIT)
        return (*(point in self._crash_points for point in points), at_rest)
