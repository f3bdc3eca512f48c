"""The sessions of an actor in the database: how one ends, and the next one of a process that outlived it.

A session has ended once its backend has left pg_stat_activity: until then it holds its locks. What its last statement did is then
certain, and is read from committed truth.
"""

from __future__ import annotations

from time import monotonic

from simrunner.errors import ServerError
from simrunner.limits import LIMITS
from simrunner.model.tape import UNPLANNED_LOSS
from simrunner.runtime import commits, process
from simrunner.runtime.process import Process
from simrunner.runtime.world import Connection, Lane, World

_LOOK_MS = 1.0
"""A backend of this machine is waited for so long before it is asked what it waits for."""


def is_gone(world: World, backend_pid: int) -> bool:
    """Whether a backend has left pg_stat_activity. One of this machine has done so before its process ends."""
    if world.can_signal_backends and not process.has_ended(backend_pid, _LOOK_MS):
        return False
    return not world.observer.is_alive(backend_pid)


def wait_until_gone(world: World, lane: Lane, on: Connection) -> None:
    """Return when a backend has left pg_stat_activity. Raises ServerError if it does not."""
    deadline = monotonic() + LIMITS.backend_gone_seconds
    while not is_gone(world, on.backend_pid):
        if monotonic() > deadline:
            raise does_not_leave(lane, on)


def record_gone(world: World, lane: Lane, on: Connection) -> None:
    """Record that a session has ended, and with it the transaction that it left open."""
    world.recorder.event("backend-gone", **{**lane.who(on), "os_pid": None})


def record_ended(world: World, lane: Lane, on: Connection) -> None:
    """Record that a session has ended and what it committed last."""
    record_gone(world, lane, on)
    if lane.order is not None and lane.order.barrier is not None:
        commits.record_until(world, on.key)
    else:
        commits.record_new(world)
    world.transactions.pop(on.key, None)


def does_not_leave(lane: Lane, on: Connection) -> ServerError:
    """The error of a backend that neither waits for a lock nor leaves."""
    seconds = f"{LIMITS.backend_gone_seconds:g} s"
    return ServerError(
        f"backend {on.backend_pid} of {lane.actor}{on.words} neither left within {seconds} nor waits for a lock; it may hold"
        " locks. The machine is overloaded or the backend is held by something else: end that and run again"
    )


def lose(world: World, lane: Lane, on: Connection) -> None:
    """Wait until a session of a living actor has ended, and record it, unless a decision had ended it."""
    if on.backend_pid:
        if not on.losing:
            world.is_deterministic = False
            world.recorder.event("fault", **lane.who(on), value=UNPLANNED_LOSS)
        wait_until_gone(world, lane, on)
        record_ended(world, lane, on)
        _clear(on)


def forget(world: World, lane: Lane) -> None:
    """Record the end of the sessions with which their server has ended."""
    for on in lane.connections:
        if on.backend_pid:
            record_gone(world, lane, on)
            world.transactions.pop(on.key, None)
            _clear(on)


def begin_next(world: World, lane: Lane, one: Process, backends: tuple[int, ...]) -> None:
    """Record the sessions with which an actor goes on: those of `backends` that are not its process's known ones."""
    for place, backend_pid in enumerate(backends):
        if place == len(lane.connections):
            lane.connections.append(Connection(world.design.connection_name(place)))
        if one.backends[place : place + 1] != (backend_pid,):
            on = lane.connections[place]
            lose(world, lane, on)
            begin(world, on, backend_pid)
            world.recorder.event("session-start", **lane.who(on), value=on.name)
    lane.process = one._replace(backends=backends)


def begin(world: World, on: Connection, backend_pid: int) -> None:
    """Let a connection have a new session."""
    world.sessions_used += 1
    on.session, on.backend_pid, on.begun = world.sessions_used, backend_pid, 0


def _clear(on: Connection) -> None:
    on.backend_pid, on.begun, on.losing = 0, 0, False
    on.end_transaction()
