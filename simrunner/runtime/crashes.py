"""Death of an actor, by decision or from outside, until its backend has gone.

Right after SIGKILL a client's backend still holds its row locks, sometimes even after the client was reaped. It has released
them once its pid has left pg_stat_activity; only then is the crash over. A dead actor's statement that still waits for a lock
leaves an orphan session instead, which stays a waiter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import monotonic

from simrunner.limits import LIMITS
from simrunner.model.operations import CRASH_POINTS
from simrunner.model.tape import KILL, UNPLANNED, Decision
from simrunner.model.view import LaneState
from simrunner.runtime import process, sessions, stepping, waiting
from simrunner.runtime.messages import Returned, Write
from simrunner.runtime.process import Process
from simrunner.runtime.world import Connection, Ghost, Lane, World


def kill(world: World, lane: Lane, label: str | None) -> None:
    """SIGKILL an actor by decision; returns when its backends have gone."""
    value = UNPLANNED if label == UNPLANNED else "kill"
    point = label if label in CRASH_POINTS else lane.intent.crash_point if lane.intent else None
    world.recorder.event("fault", **lane.who(), value=value, crash_point=point)
    bury(world, lane, process.kill)


def unplanned(world: World, lane: Lane) -> None:
    """Record that an actor was found dead; from here on the run is as if a decision had killed it."""
    world.recorder.decide(Decision(KILL, lane.actor, UNPLANNED))
    world.recorder.tick()
    kill(world, lane, UNPLANNED)


def died_in_step(world: World, lane: Lane) -> None:
    """Record that an actor died in the middle of its step: how far it got was luck, so a replay may differ."""
    world.is_deterministic = False
    unplanned(world, lane)


def has_left(world: World, remains: Lane) -> bool:
    """Wait until a dead actor's backend has left, and record it. False: its statement waits for a lock.

    Such a backend cannot notice that its client has gone. Raises ServerError if it neither waits nor leaves.
    """
    on = remains.connection
    deadline = monotonic() + LIMITS.backend_gone_seconds
    while not sessions.is_gone(world, on.backend_pid):
        if waiting.is_held_up(world, remains):
            return False
        if monotonic() > deadline:
            raise sessions.does_not_leave(remains, on)
    sessions.record_ended(world, remains, on)
    return True


def record_death(world: World, lane: Lane, ended: str) -> list[Lane]:
    """Record that an actor's process has ended and clear its lane. Returns a copy of what it was for each of its sessions.

    They may outlive it.
    """
    stepping.outcome_unknown(world, lane)
    world.recorder.event("process-end", **lane.who(), value=ended)
    _leave_ghost(world, lane)
    remains = [replace(lane, connections=[on]) for on in lane.connections if on.backend_pid]
    lane.process, lane.intent, lane.deferred, lane.pending, lane.order = None, None, (), None, None
    lane.state, lane.held, lane.blockers = LaneState.DEAD, {}, ()
    lane.connection = Connection()
    lane.connections = [lane.connection]
    return remains


def bury(world: World, lane: Lane, end: Callable[[Process], str]) -> None:
    """End an actor's process in a way that says how it ended, and record its death; returns when its backends have gone."""
    if lane.process is not None:
        ended = end(lane.process)
        lane.process.gate.close()
        let_leave(world, record_death(world, lane, ended))


def let_leave(world: World, remains: Sequence[Lane]) -> None:
    """Let a dead actor's backends leave; one whose statement waits for a lock stays, as an orphan."""
    for session in remains:
        if not has_left(world, session):
            session.process = None
            world.orphans.append(session)


def _leave_ghost(world: World, lane: Lane) -> None:
    operations = world.workload.actors.ghost_operations
    if not operations:
        return
    for claim in lane.held.values():
        writes = tuple(_write(operation, lane.identity, claim) for operation in operations)
        world.ghosts.append(Ghost(writes, world.workload.actors.ghost_rounds))


def _write(operation: str, identity: str, claim: Returned) -> Write:
    return Write(operation, identity, claim.token, claim.job or "", claim.attempt)
