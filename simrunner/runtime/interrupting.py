"""Faults that strike the session of an actor, or the statement that it is about to send."""

from __future__ import annotations

from contextlib import nullcontext

from simrunner.model.tape import ERROR_AT, LOCK_TIMEOUT, LOSE_ACK, LOSE_COMMIT, Decision
from simrunner.runtime import bystander, crashes, process, sessions, steps, waiting, waking
from simrunner.runtime.messages import Trouble
from simrunner.runtime.trouble import HOLD
from simrunner.runtime.waiting import Waited
from simrunner.runtime.world import Connection, Lane, World


def terminate_backend(world: World, decision: Decision) -> None:
    """End an actor's session, on its first connection or a named one. The actor notices at its next statement there.

    The session's locks are free when this returns.
    """
    lane = world.lane(decision.actor or "")
    on = next((one for one in lane.connections if one.name == decision.detail), None)
    if on is None or not on.backend_pid:
        return
    waiters = waking.hold(world, lane)
    record(world, lane, decision, on)
    on.losing = True
    world.observer.terminate(on.backend_pid)
    sessions.lose(world, lane, on)
    waking.release(world, waiters)


def spoil(world: World, decision: Decision) -> None:
    """Let an actor take its step, and the fault strike in it."""
    lane = world.lane(decision.actor or "")
    record(world, lane, decision)
    on = lane.connection
    on.losing = decision.kind in (LOSE_COMMIT, LOSE_ACK) and bool(on.backend_pid)
    job = lane.intent.job if lane.intent is not None and decision.kind == LOCK_TIMEOUT else None
    with nullcontext() if job is None else bystander.locking(world, job):
        steps.take(world, lane, Trouble(decision.kind, decision.detail))


def kill_in_statement(world: World, decision: Decision) -> None:
    """Kill an actor while its statement stands still in the server, having changed a row; then let the statement go on.

    A statement that changes nothing, or waits for somebody's lock before it does, is not struck: it goes on as any other.
    """
    lane = world.lane(decision.actor or "")
    intent = lane.intent
    if intent is None or lane.process is None:
        return
    waiters = waking.hold(world, lane)
    remains: list[Lane] | None = None
    with bystander.holding(world) as holder:
        steps.begin(world, lane, intent, Trouble(HOLD))
        report = waiting.outcome(world, lane, holder)
        if report is Waited.HELD:
            record(world, lane, decision)
            ended = process.kill(lane.process)
            lane.process.gate.close()
            remains = crashes.record_death(world, lane, ended)
            if world.design.session.looks_for_client:
                for session in remains:
                    sessions.wait_until_gone(world, session, session.connection)
    if remains is None:
        steps.end(world, lane, intent, report)
    else:
        crashes.let_leave(world, remains)
    waking.release(world, waiters)


def record(world: World, lane: Lane, decision: Decision, on: Connection | None = None) -> None:
    """Record that a fault strikes an actor where it stands; `on` is the connection that it strikes, if not that of the step."""
    standing = lane.intent or lane.pending
    point = standing.crash_point if standing else None
    sqlstate = decision.detail if decision.kind == ERROR_AT else None
    world.recorder.event("fault", **lane.who(on), value=decision.kind, crash_point=point, sqlstate=sqlstate)
