"""What a strategy or a fault may see when it decides: nothing that depends on luck."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from simrunner.model.workload import FaultSpec


class LaneState(StrEnum):
    """Where an actor stands between two decisions."""

    PARKED = "parked"  # waits at its gate: can be chosen
    BLOCKED = "blocked"  # its statement waits for a lock
    RESTING = "resting"  # has used its opportunity of this round
    PAUSED = "paused"  # its process is stopped: it goes on where it stands once it is resumed
    DEAD = "dead"  # no process


class LaneView(NamedTuple):
    """One actor. Lanes are listed in declared order, which never changes in a run."""

    actor: str
    incarnation: int
    state: LaneState
    label: str | None
    """What it would do next, e.g. `claim:1`, `claim:COMMIT`, `work-start`."""
    crash_point: str | None
    """The crash point at which it stands, if any."""


class View(NamedTuple):
    """The whole picture at one decision."""

    phase: str
    round: int
    step: int
    lanes: tuple[LaneView, ...]

    def enabled(self) -> tuple[LaneView, ...]:
        """The lanes that can be chosen for a step."""
        return tuple(lane for lane in self.lanes if lane.state is LaneState.PARKED)


class ArmedFault(NamedTuple):
    """A fault of the workload, placed by the seed: it strikes once, at the first match from `round` on."""

    spec: FaultSpec
    round: int
    actor: str | None
    """None: whichever actor passes the crash point first from that round on."""
