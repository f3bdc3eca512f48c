"""What a fault is: its name, the keys that a workload may give it, when it can strike, and the command that makes it happen.

All of it is pure: a fault sees the view and its place in the workload, and answers with a command of the closed set that
`model.tape` defines. `runtime` carries that out.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from simrunner.model.tape import Decision
from simrunner.model.view import LaneState, LaneView
from simrunner.model.workload import FaultSpec

ALWAYS = ("kind", "times", "round")
"""Keys that every fault takes."""
PLACE = ("crash_point", "at", "actor")
"""Keys that say of whom, and where it stands. A fault that is about no actor strikes when one stands there."""

CONNECTION = "connection"
"""Key of those that strike one connection of a worker."""


def parked_or_resting(lane: LaneView, spec: FaultSpec) -> bool:
    """Whether the actor has a process that stands still between two steps."""
    return lane.state in (LaneState.PARKED, LaneState.RESTING)


def parked(lane: LaneView, spec: FaultSpec) -> bool:
    """Whether the actor is about to take a step."""
    return lane.state is LaneState.PARKED


def anywhere(step: str) -> bool:
    """Before any step."""
    return True


def is_sent(step: str) -> bool:
    """Whether a step's statement can be lost: BEGIN cannot, nothing would be."""
    return ":" in step and not step.endswith(":BEGIN")


def is_numbered(step: str) -> bool:
    """Whether a step is a statement of an operation, such as `claim:1`."""
    return step.rpartition(":")[2].isdecimal()


def no_detail(spec: FaultSpec) -> None:
    """What a command says besides its place: nothing."""


class Fault(NamedTuple):
    """A kind of fault as workloads name it. Its name is the kind of its command."""

    name: str
    title: str
    """One line for `simrunner list faults`."""
    drawn: Callable[[Random], FaultSpec]
    """One of its kind for a schedule of a campaign, from a seeded stream; round and actor are drawn when the schedule begins."""
    needs: tuple[str, ...] = ()
    """Keys of its own that a workload must give it."""
    takes: tuple[str, ...] = ()
    """Keys of its own that a workload may give it."""
    of_actor: bool = True
    """It happens to an actor; else to the server or its clock."""
    in_rounds_mode: bool = False
    """It can strike where claims race."""
    can_strike: Callable[[LaneView, FaultSpec], bool] = parked_or_resting
    """Whether it can happen to an actor that stands at the place which the workload names."""
    stands_at: Callable[[str], bool] = anywhere
    """Whether it can happen at a step, such as `claim:COMMIT`."""
    amount: Callable[[FaultSpec], int | None] = no_detail
    """Number in its command, e.g. how many rounds it lasts."""
    detail: Callable[[FaultSpec], str | None] = no_detail
    """Text in its command."""

    def strikes(self, lane: LaneView, spec: FaultSpec) -> bool:
        """Whether it can strike now: an actor stands where the workload says, and it can happen to that one there."""
        stands = spec.crash_point in (None, lane.crash_point) and spec.at in (None, lane.label)
        return stands and self.stands_at(lane.label or "") and self.can_strike(lane, spec)

    def command(self, lane: LaneView, spec: FaultSpec) -> Decision:
        """Return the command that makes it happen; its label says where the actor stands."""
        actor = lane.actor if self.of_actor else None
        return Decision(self.name, actor, lane.crash_point or lane.label, self.amount(spec), self.detail(spec))


def drawn_from(stream: Random, choices: tuple[str, ...]) -> str:
    """Draw one of several texts."""
    return choices[int(stream.random() * len(choices))]


def drawn_ms(stream: Random, most: int) -> int:
    """Draw a number of milliseconds between -most and most, but not 0."""
    size = 1 + int(stream.random() * most)
    return size if stream.random() < 0.5 else -size
