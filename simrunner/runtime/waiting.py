"""Waiting for a step: it finishes, its actor dies, or it is verifiably blocked by another actor.

Blocked is a state of its own: `pg_blocking_pids` names the backends that hold it up, and each of them belongs to an actor that
stands still. Nothing here sleeps: an outcome is polled for on the gate, and only the limit of a stuck step uses real time.
"""

from __future__ import annotations

from enum import Enum, auto
from time import monotonic

from simrunner.errors import StepStuck
from simrunner.limits import LIMITS
from simrunner.model.view import LaneState
from simrunner.runtime import process
from simrunner.runtime.messages import Report
from simrunner.runtime.process import Process
from simrunner.runtime.world import Lane, World

_FIRST_LOOK_MS = 1.0
_LONGEST_LOOK_MS = 20.0


class Waited(Enum):
    """Why a wait ended without a report."""

    BLOCKED = auto()
    DEAD = auto()
    HELD = auto()
    """It stands still for a lock that the coordinator holds."""


def outcome(world: World, lane: Lane, holder: int = 0) -> Report | Waited:
    """Wait for an actor's outstanding step; `holder` is the coordinator's backend that may hold it.

    Raises StepStuck after LIMITS.step_seconds.
    """
    deadline = monotonic() + LIMITS.step_seconds
    look_ms = 0.0 if lane.state is LaneState.BLOCKED else _FIRST_LOOK_MS
    while not lane.process or not lane.process.gate.wait(look_ms):
        if lane.process is None:
            return Waited.DEAD
        if _may_be_blocked(world, lane, lane.process):
            if holder and holder in world.observer.blocking_pids(lane.connection.backend_pid):
                return Waited.HELD
            if _is_blocked(world, lane):
                return Waited.BLOCKED
        if monotonic() > deadline:
            raise _stuck(lane)
        look_ms = min(max(look_ms * 2, _FIRST_LOOK_MS), _LONGEST_LOOK_MS)
    return lane.process.gate.receive() or Waited.DEAD


def blocker_names(world: World, lane: Lane) -> str:
    """The actors that block a lane, comma-separated in declared order."""
    pids = set(lane.blockers)
    everybody = (*world.lanes, *world.orphans)
    names = [other.actor for other in everybody if any(on.backend_pid in pids for on in other.connections)]
    return ",".join(dict.fromkeys(names))


def behind(world: World, lane: Lane) -> list[Lane]:
    """Those of `world.waiters()` that wait, directly or through others, for a backend of an actor."""
    waiters = [other for other in world.waiters() if other is not lane]
    reached = {on.backend_pid for on in lane.connections} if waiters else set()
    for _ in waiters:
        reached.update(other.connection.backend_pid for other in waiters if reached.intersection(other.blockers))
    return [other for other in waiters if other.connection.backend_pid in reached]


def is_held_up(world: World, lane: Lane) -> bool:
    """Whether a backend waits for a lock now. One that was granted it does not, even before it has noticed."""
    lane.blockers = tuple(dict.fromkeys(world.observer.blocking_pids(lane.connection.backend_pid)))
    return bool(lane.blockers)


def _may_be_blocked(world: World, lane: Lane, one: Process) -> bool:
    """Whether it is worth asking the server: not while the actor or its backend runs, if they are processes that we see."""
    return not world.can_signal_backends or (process.is_asleep(one.pid) and process.is_asleep(lane.connection.backend_pid))


def _is_blocked(world: World, lane: Lane) -> bool:
    """Whether every backend that holds the lane up stands still, and none of them waits for the lane itself.

    Those of an actor's other connections do, the lane's own among them. In a cycle the server ends one statement; until then
    nothing is settled.
    """
    own = lane.connection.backend_pid
    pids = tuple(dict.fromkeys(world.observer.blocking_pids(own)))
    still = {
        on.backend_pid for other in world.lanes for on in other.connections if other.pending is None or on is not other.connection
    }
    waiting = {other.connection.backend_pid: other.blockers for other in world.waiters() if other is not lane}
    if not pids or not all(pid in still or pid in waiting for pid in pids) or _closes_cycle(own, pids, waiting):
        return False
    lane.blockers = pids
    return True


def _closes_cycle(pid: int, blockers: tuple[int, ...], waiting: dict[int, tuple[int, ...]]) -> bool:
    seen: set[int] = set()
    ahead = list(blockers)
    while ahead:
        current = ahead.pop()
        if current == pid:
            return True
        if current not in seen:
            seen.add(current)
            ahead.extend(waiting.get(current, ()))
    return False


def _stuck(lane: Lane) -> StepStuck:
    label, on = lane.pending.label if lane.pending else "?", lane.connection
    return StepStuck(
        f"{lane.actor}{on.words} neither finished {label} nor is blocked by another actor after {LIMITS.step_seconds:.0f} s"
        f" (backend {on.backend_pid}). Look for a lock held from outside the run, or a statement that takes too long"
    )
