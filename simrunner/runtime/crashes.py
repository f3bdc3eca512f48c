"""Death of an actor, by decision or from outside, until its backend has gone.

Right after SIGKILL a client's backend still holds its row locks, sometimes even after the client was reaped. It has released
them once its pid has left pg_stat_activity; only then is the crash over. A dead actor's statement that still waits for a lock
leaves an orphan session instead, which stays a waiter.
"""

from __future__ import annotations

from dataclasses import replace
from time import monotonic

from simrunner.errors import ServerError
from simrunner.limits import LIMITS
from simrunner.model.tape import KILL, Decision
from simrunner.model.view import LaneState
from simrunner.runtime import commits, process, stepping
from simrunner.runtime.messages import Returned, Write
from simrunner.runtime.world import Ghost, Lane, Orphan, World

UNPLANNED = "unplanned-crash"
"""Label on the tape of a death that came from outside, and value of its fault event."""


def kill(world: World, lane: Lane, label: str | None) -> None:
    """SIGKILL an actor by decision; returns when its backend has gone."""
    value = UNPLANNED if label == UNPLANNED else "kill"
    point = lane.intent.crash_point if lane.intent else None
    world.recorder.event("fault", **lane.who(), value=value, crash_point=point)
    _bury(world, lane)


def unplanned(world: World, lane: Lane) -> None:
    """Record that an actor was found dead; from here on the run is as if a decision had killed it."""
    world.recorder.decide(Decision(KILL, lane.actor, UNPLANNED))
    kill(world, lane, UNPLANNED)


def settle_orphans(world: World) -> None:
    """Find out which orphan sessions have ended, and what they left."""
    for orphan in list(world.orphans):
        if _waits(world, orphan.lane):
            continue
        world.orphans.remove(orphan)
        _gone(world, orphan.lane)


def record_death(world: World, lane: Lane, ended: str) -> Lane:
    """Record that an actor's process has ended and clear its lane. Returns a copy of what it was: its session may outlive it."""
    stepping.outcome_unknown(world, lane)
    world.recorder.event("process-end", **lane.who(), value=ended)
    _leave_ghost(world, lane)
    remains = replace(lane)
    lane.process, lane.intent, lane.pending, lane.order = None, None, None, None
    lane.state, lane.txn, lane.txn_time, lane.claimed, lane.held = LaneState.DEAD, None, None, (), {}
    lane.backend_pid, lane.session, lane.blockers = 0, None, ()
    return remains


def wait_until_gone(world: World, remains: Lane) -> None:
    """Return when a dead actor's backend has left pg_stat_activity. Raises ServerError if it does not."""
    deadline = monotonic() + LIMITS.backend_gone_seconds
    while world.observer.is_alive(remains.backend_pid):
        if monotonic() > deadline:
            raise ServerError(f"backend {remains.backend_pid} of the dead {remains.actor} did not leave; it may hold locks")


def record_gone(world: World, remains: Lane) -> None:
    """Record that a dead actor's session has ended, and with it the transaction that it left open."""
    world.recorder.event("backend-gone", **{**remains.who(), "os_pid": None})


def _bury(world: World, lane: Lane) -> None:
    if lane.process is None:
        return
    ended = process.kill(lane.process)
    lane.process.gate.close()
    remains = record_death(world, lane, ended)
    if remains.state is LaneState.BLOCKED and _waits(world, remains):
        world.orphans.append(Orphan(remains))
    else:
        _gone(world, remains)


def _gone(world: World, remains: Lane) -> None:
    wait_until_gone(world, remains)
    record_gone(world, remains)
    commits.record_new(world)
    world.transactions.pop((remains.backend_pid, remains.begun), None)


def _waits(world: World, remains: Lane) -> bool:
    """Whether a dead actor's statement still waits for a lock: its backend cannot notice that its client has gone."""
    pids = world.observer.blocking_pids(remains.backend_pid)
    remains.blockers = tuple(pids)
    return bool(pids)


def _leave_ghost(world: World, lane: Lane) -> None:
    operations = world.workload.actors.ghost_operations
    if not operations:
        return
    identity = f"{lane.actor}.{lane.incarnation}"
    for claim in lane.held.values():
        writes = tuple(_write(operation, identity, claim) for operation in operations)
        world.ghosts.append(Ghost(writes, world.workload.actors.ghost_rounds))


def _write(operation: str, identity: str, claim: Returned) -> Write:
    return Write(operation, identity, claim.token, claim.job or "", claim.attempt)
