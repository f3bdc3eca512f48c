"""The session of an actor in the database: how it ends, and the next one of a process that outlived it.

A session has ended once its backend has left pg_stat_activity: until then it holds its locks. What its last statement did is then
certain, and is read from committed truth.
"""

from __future__ import annotations

from time import monotonic

from simrunner.errors import ServerError
from simrunner.limits import LIMITS
from simrunner.model.tape import UNPLANNED_LOSS
from simrunner.runtime import commits, process
from simrunner.runtime.world import Lane, World

_LOOK_MS = 1.0
"""A backend of this machine is waited for so long before it is asked what it waits for."""


def is_gone(world: World, backend_pid: int) -> bool:
    """Whether a backend has left pg_stat_activity. One of this machine has done so before its process ends."""
    if world.can_signal_backends and not process.has_ended(backend_pid, _LOOK_MS):
        return False
    return not world.observer.is_alive(backend_pid)


def wait_until_gone(world: World, remains: Lane) -> None:
    """Return when a backend has left pg_stat_activity. Raises ServerError if it does not."""
    deadline = monotonic() + LIMITS.backend_gone_seconds
    while not is_gone(world, remains.backend_pid):
        if monotonic() > deadline:
            raise does_not_leave(remains)


def record_gone(world: World, remains: Lane) -> None:
    """Record that a session has ended, and with it the transaction that it left open."""
    world.recorder.event("backend-gone", **{**remains.who(), "os_pid": None})


def record_ended(world: World, remains: Lane) -> None:
    """Record that a session has ended and what it committed last."""
    key = (remains.backend_pid, remains.begun)
    record_gone(world, remains)
    if remains.order is not None and remains.order.barrier is not None:
        commits.record_until(world, key)
    else:
        commits.record_new(world)
    world.transactions.pop(key, None)


def does_not_leave(remains: Lane) -> ServerError:
    """The error of a backend that neither waits for a lock nor leaves."""
    return ServerError(
        f"backend {remains.backend_pid} of {remains.actor} neither left within {LIMITS.backend_gone_seconds:g} s nor waits for a"
        " lock; it may hold locks. The machine is overloaded or the backend is held by something else: end that and run again"
    )


def lose(world: World, lane: Lane) -> None:
    """Wait until the session of a living actor has ended, and record it, unless a decision had ended it."""
    if lane.backend_pid:
        if not lane.losing:
            world.is_deterministic = False
            world.recorder.event("fault", **lane.who(), value=UNPLANNED_LOSS)
        wait_until_gone(world, lane)
        record_ended(world, lane)
        _clear(lane)


def forget(world: World, lane: Lane) -> None:
    """Record the end of a session with which its server has ended."""
    if lane.backend_pid:
        record_gone(world, lane)
        world.transactions.pop((lane.backend_pid, lane.begun), None)
        _clear(lane)


def begin_next(world: World, lane: Lane, backend_pid: int) -> None:
    """Record the session with which an actor goes on."""
    lose(world, lane)
    world.sessions_used += 1
    lane.session, lane.backend_pid, lane.begun = world.sessions_used, backend_pid, 0
    if lane.process is not None:
        lane.process = lane.process._replace(backend_pid=backend_pid)
    world.recorder.event("session-start", **lane.who())


def _clear(lane: Lane) -> None:
    lane.backend_pid, lane.begun, lane.losing = 0, 0, False
    lane.end_transaction()
