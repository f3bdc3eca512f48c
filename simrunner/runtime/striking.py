"""Carries out the commands of faults. Each returns when its effect is certain, never when it was merely asked for.

What lasts for some rounds is ended at the beginning of a round, and all of it when the liveness phase begins: the ends follow
from the faults themselves, so they are confirmed, not decided.
"""

from __future__ import annotations

from collections.abc import Callable

from simrunner.model.tape import (
    ERROR_AT,
    KILL,
    KILL_IN_STATEMENT,
    LOCK_TIMEOUT,
    LOSE_ACK,
    LOSE_COMMIT,
    PAUSE,
    RESUME,
    STATEMENT_TIMEOUT,
    TERMINATE,
    TERMINATE_BACKEND,
    Decision,
)
from simrunner.model.view import LaneState
from simrunner.runtime import crashes, interrupting, process, stepping, waking
from simrunner.runtime.messages import ROUND
from simrunner.runtime.world import Lane, World


def strike(world: World, decision: Decision) -> None:
    """Carry out the command of a fault."""
    STRIKES[decision.kind](world, decision)


def end_due(world: World, number: int) -> None:
    """End what does not last into round `number`."""
    for lane in world.lanes:
        if lane.state is LaneState.PAUSED and lane.paused_until <= number:
            _resume(world, lane)


def end_all(world: World) -> None:
    """End all that lasts: the liveness phase is without faults."""
    for lane in world.lanes:
        if lane.state is LaneState.PAUSED:
            _resume(world, lane)


def _kill(world: World, decision: Decision) -> None:
    waking.kill(world, world.lane(decision.actor or ""), decision.label)


def _pause(world: World, decision: Decision) -> None:
    lane = world.lane(decision.actor or "")
    _record(world, lane, decision)
    if lane.process is not None:
        process.pause(lane.process)
        lane.state, lane.paused_until = LaneState.PAUSED, (world.recorder.round or 0) + (decision.amount or 1)


def _terminate(world: World, decision: Decision) -> None:
    lane = world.lane(decision.actor or "")
    _record(world, lane, decision)
    if lane.process is None:
        return
    waiters = waking.hold(world, lane.backend_pid)
    process.terminate(lane.process)
    report = lane.process.gate.receive()
    if report is None:
        crashes.terminated(world, lane)
    else:  # it tidies up, step by step
        stepping.finish(world, lane, report)
    waking.release(world, waiters)


def _resume(world: World, lane: Lane) -> None:
    world.follow(Decision(RESUME, lane.actor))
    world.recorder.tick()
    world.recorder.event("fault", **lane.who(), value=RESUME)
    if lane.process is not None:
        process.resume(lane.process)
    resting = lane.intent is None or lane.intent.label == ROUND
    lane.state = LaneState.RESTING if resting else LaneState.PARKED


def _record(world: World, lane: Lane, decision: Decision) -> None:
    point = lane.intent.crash_point if lane.intent else None
    world.recorder.event("fault", **lane.who(), value=decision.kind, crash_point=point)


STRIKES: dict[str, Callable[[World, Decision], None]] = {
    KILL: _kill,
    PAUSE: _pause,
    TERMINATE: _terminate,
    KILL_IN_STATEMENT: interrupting.kill_in_statement,
    TERMINATE_BACKEND: interrupting.terminate_backend,
    **dict.fromkeys((LOSE_COMMIT, LOSE_ACK, ERROR_AT, LOCK_TIMEOUT, STATEMENT_TIMEOUT), interrupting.spoil),
}
"""Kind of a fault -> what carries its command out."""
