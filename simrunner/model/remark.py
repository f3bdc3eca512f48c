"""What `simrunner doctor` has to say: one thing that was noticed, what it means, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How much a remark weighs, heaviest first."""

    ERROR = "error"
    """No run can be made, or none that means anything."""
    WARNING = "warning"
    """A promise is likely to be broken; a run shows whether it is."""
    HINT = "hint"
    """Good to know."""


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing that was noticed in the environment or in a design. It is no finding: nothing was run to see it."""

    level: Level
    name: str
    """Stable: the same for the same kind of thing in every version, e.g. `unfenced-write`."""
    message: str
    """What was noticed and what it means."""
    remedy: str
    place: str | None = None
    """`file:line`, or what else it is about; None: the machine."""
