"""Carries out the commands of faults. Each returns when its effect is certain, never when it was merely asked for.

What lasts for some rounds is ended at the beginning of a round, and all of it when the liveness phase begins: the ends follow
from the faults themselves, so they are confirmed, not decided.
"""

from __future__ import annotations

from collections.abc import Callable

from psycopg.pq.abc import PGconn

from simrunner.model.event import OBSERVER
from simrunner.model.operations import CRASH_POINTS
from simrunner.model.tape import (
    ANALYZE_AT,
    END,
    ERROR_AT,
    HOLD_SNAPSHOT,
    IDLE_TIMEOUT,
    JUMP,
    KILL,
    KILL_IN_STATEMENT,
    LOCK_TIMEOUT,
    LOSE_ACK,
    LOSE_COMMIT,
    PAUSE,
    REUSE,
    SERVER_CRASH,
    SKEW,
    SLOW_START,
    STATEMENT_TIMEOUT,
    TERMINATE,
    TERMINATE_BACKEND,
    Decision,
)
from simrunner.model.view import LaneState
from simrunner.runtime import bystander, crashes, crashing, interrupting, process, sessions, stepping, waking
from simrunner.runtime.messages import ROUND, Go, Trouble
from simrunner.runtime.world import Lane, Lasting, World


def strike(world: World, decision: Decision) -> None:
    """Carry out the command of a fault."""
    STRIKES[decision.kind](world, decision)


def end_due(world: World, number: int | None) -> None:
    """End what does not last into round `number`; None: end all that lasts, for the liveness phase is without faults."""
    due = [one for one in world.lasting if number is None or (one.until is not None and one.until <= number)]
    world.lasting = [one for one in world.lasting if one not in due]
    for one in due:
        lane = None if one.actor is None else world.lane(one.actor)
        if one.kind in (PAUSE, IDLE_TIMEOUT) and lane is not None and lane.state is not LaneState.PAUSED:
            continue  # it was killed meanwhile
        world.follow(Decision(END, one.actor, one.kind))
        world.recorder.tick()
        _record(world, lane, f"end of {one.kind}")
        ENDS[one.kind](world, one)


def _kill(world: World, decision: Decision) -> None:
    waking.kill(world, world.lane(decision.actor or ""), decision.label)


def _pause(world: World, decision: Decision) -> None:
    lane = _struck(world, decision)
    if lane.process is not None:
        process.pause(lane.process)
        lane.state = LaneState.PAUSED
        _last(world, decision)


def _idle_out(world: World, decision: Decision) -> None:
    lane = _struck(world, decision)
    if lane.process is None:
        return
    waiters = waking.hold(world, lane)
    lane.connection.losing = bool(lane.connection.backend_pid)
    lane.process.gate.open(Go(world.recorder.now_us, trouble=Trouble(IDLE_TIMEOUT)))
    lane.process.gate.receive()  # it stands where it stood
    process.pause(lane.process)
    lane.state = LaneState.PAUSED
    _last(world, decision)
    sessions.lose(world, lane, lane.connection)
    waking.release(world, waiters)


def _resume(world: World, one: Lasting) -> None:
    lane = world.lane(one.actor or "")
    if lane.process is not None:
        process.resume(lane.process)
        resting = lane.intent is None or lane.intent.label == ROUND
        lane.state = LaneState.RESTING if resting else LaneState.PARKED


def _terminate(world: World, decision: Decision) -> None:
    lane = _struck(world, decision)
    if lane.process is None:
        return
    waiters = waking.hold(world, lane)
    process.terminate(lane.process)
    report = lane.process.gate.receive()
    if report is None:
        crashes.bury(world, lane, process.reap)
    else:  # it tidies up, step by step
        stepping.finish(world, lane, report)
    waking.release(world, waiters)


def _skew(world: World, decision: Decision) -> None:
    lane = _struck(world, decision)
    lane.skew_ms = decision.amount or 0
    world.lasting.append(Lasting(SKEW, lane.actor, None))


def _set_right(world: World, one: Lasting) -> None:
    world.lane(one.actor or "").skew_ms = 0


def _reuse(world: World, decision: Decision) -> None:
    lane = _struck(world, decision)
    lane.alias = lane.identity
    _strike_dead(world, lane)


def _start_late(world: World, decision: Decision) -> None:
    lane = _struck(world, decision)
    lane.starts_later = True
    _last(world, decision)
    _strike_dead(world, lane)


def _let_start(world: World, one: Lasting) -> None:
    world.lane(one.actor or "").starts_later = False


def _strike_dead(world: World, lane: Lane) -> None:
    waiters = waking.hold(world, lane)
    crashes.bury(world, lane, process.kill)
    waking.release(world, waiters)


def _analyze(world: World, decision: Decision) -> None:
    _record_at(world, decision)
    world.observer.maintain("ANALYZE")


def _hold_snapshot(world: World, decision: Decision) -> None:
    _record_at(world, decision)
    _last(world, decision, bystander.hold_snapshot(world))


def _let_go(world: World, one: Lasting) -> None:
    if one.session is not None:
        bystander.let_go(one.session)


def _jump(world: World, decision: Decision) -> None:
    _record_at(world, decision)
    world.advance(decision.amount or 0)


def _struck(world: World, decision: Decision) -> Lane:
    """Record the fault; returns whom it strikes."""
    lane = world.lane(decision.actor or "")
    interrupting.record(world, lane, decision)
    return lane


def _record_at(world: World, decision: Decision) -> None:
    """Record a fault that is about no actor."""
    _record(world, None, decision.kind, decision.label if decision.label in CRASH_POINTS else None)


def _last(world: World, decision: Decision, session: PGconn | None = None) -> None:
    """Take note that a fault lasts for so many rounds."""
    until = (world.recorder.round or 0) + (decision.amount or 1)
    world.lasting.append(Lasting(decision.kind, decision.actor, until, session))


def _record(world: World, lane: Lane | None, value: str, crash_point: str | None = None) -> None:
    who = {"actor": OBSERVER} if lane is None else lane.who()
    world.recorder.event("fault", **who, value=value, crash_point=crash_point)


STRIKES: dict[str, Callable[[World, Decision], None]] = {
    KILL: _kill,
    PAUSE: _pause,
    TERMINATE: _terminate,
    KILL_IN_STATEMENT: interrupting.kill_in_statement,
    SERVER_CRASH: crashing.crash,
    TERMINATE_BACKEND: interrupting.terminate_backend,
    **dict.fromkeys((LOSE_COMMIT, LOSE_ACK, ERROR_AT, LOCK_TIMEOUT, STATEMENT_TIMEOUT), interrupting.spoil),
    SKEW: _skew,
    JUMP: _jump,
    REUSE: _reuse,
    SLOW_START: _start_late,
    ANALYZE_AT: _analyze,
    IDLE_TIMEOUT: _idle_out,
    HOLD_SNAPSHOT: _hold_snapshot,
}
"""Kind of a fault -> what carries its command out."""
ENDS: dict[str, Callable[[World, Lasting], None]] = {
    PAUSE: _resume,
    IDLE_TIMEOUT: _resume,
    SKEW: _set_right,
    SLOW_START: _let_start,
    HOLD_SNAPSHOT: _let_go,
}
"""Kind of a fault that lasts -> what ends it."""
