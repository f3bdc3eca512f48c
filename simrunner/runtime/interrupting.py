"""Faults that strike the session of an actor, or the statement that it is about to send."""

from __future__ import annotations

from contextlib import nullcontext

from simrunner.model.tape import LOCK_TIMEOUT, LOSE_ACK, LOSE_COMMIT, Decision
from simrunner.runtime import bystander, crashes, process, sessions, steps, waiting, waking
from simrunner.runtime.messages import Trouble
from simrunner.runtime.trouble import HOLD
from simrunner.runtime.waiting import Waited
from simrunner.runtime.world import Lane, World


def terminate_backend(world: World, decision: Decision) -> None:
    """End an actor's session; the actor notices at its next statement. Its locks are free when this returns."""
    lane = world.lane(decision.actor or "")
    if not lane.backend_pid:
        return
    waiters = waking.hold(world, lane.backend_pid)
    record(world, lane, decision)
    lane.losing = True
    world.observer.terminate(lane.backend_pid)
    sessions.lose(world, lane)
    waking.release(world, waiters)


def spoil(world: World, decision: Decision) -> None:
    """Let an actor take its step, and the fault strike in it."""
    lane = world.lane(decision.actor or "")
    record(world, lane, decision)
    lane.losing = decision.kind in (LOSE_COMMIT, LOSE_ACK) and bool(lane.backend_pid)
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
    waiters = waking.hold(world, lane.backend_pid)
    remains: Lane | None = None
    with bystander.holding(world) as holder:
        steps.begin(world, lane, intent, Trouble(HOLD))
        report = waiting.outcome(world, lane, holder)
        if report is Waited.HELD:
            record(world, lane, decision)
            ended = process.kill(lane.process)
            lane.process.gate.close()
            remains = crashes.record_death(world, lane, ended)
            if world.design.session.looks_for_client:
                sessions.wait_until_gone(world, remains)
    if remains is None:
        steps.end(world, lane, intent, report)
    else:
        crashes.let_leave(world, remains)
    waking.release(world, waiters)


def record(world: World, lane: Lane, decision: Decision) -> None:
    """Record that a fault strikes an actor where it stands."""
    standing = lane.intent or lane.pending
    point = standing.crash_point if standing else None
    world.recorder.event("fault", **lane.who(), value=decision.kind, crash_point=point, sqlstate=decision.detail)
