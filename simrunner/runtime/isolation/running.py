"""A step under way."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic

from simrunner.spec.plan import Delay, Move


@dataclass(slots=True, eq=False)
class Running:
    """A step that was sent and is not yet reported as completed."""

    move: Move
    goals: list[tuple[Delay, int]] = field(default_factory=list)
    """Markers `step notices n`, each with the number of notices that the other session must have reached."""
    cancelled: bool = False
    began: float = field(default_factory=monotonic)
    """Seconds of the monotonic clock."""

    @property
    def name(self) -> str:
        """The step's name."""
        return self.move.step.name

    def seconds(self) -> int:
        """Return for how many seconds it has been under way."""
        return int(monotonic() - self.began)
