"""The literal registry of faults."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from simrunner.faults import kill
from simrunner.model.tape import Decision
from simrunner.model.view import LaneView


class Fault(NamedTuple):
    """A kind of fault as workloads name it."""

    name: str
    title: str
    can_strike: Callable[[LaneView, str | None], bool]
    """Whether it can strike this actor now, given the crash point that the workload names."""
    command: Callable[[LaneView], Decision]
    """The command, of the closed set of model.tape, that makes it happen."""


FAULTS: dict[str, Fault] = {
    fault.name: fault
    for fault in (Fault("kill", "SIGKILL of an actor's process at a crash point", kill.can_strike, kill.command),)
}
