"""Kill: SIGKILL of an actor's process while it stands at a crash point. The transaction it had open is rolled back."""

from __future__ import annotations

from simrunner.model.tape import KILL, Decision
from simrunner.model.view import LaneState, LaneView


def command(lane: LaneView) -> Decision:
    """The command that makes the fault happen."""
    return Decision(KILL, lane.actor, lane.crash_point)


def can_strike(lane: LaneView, crash_point: str | None) -> bool:
    """Whether the actor has a process that stands at the crash point."""
    return lane.state in (LaneState.PARKED, LaneState.RESTING) and lane.crash_point == crash_point
