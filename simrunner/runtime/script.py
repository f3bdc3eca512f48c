"""A scripted run: exactly the steps that the workload lists, in that order, each driven until its actor rests or is blocked.

The column `round` of the history is the number of the script step. At the end every transaction that is still open is rolled
back, so that nobody stays blocked.
"""

from __future__ import annotations

from collections.abc import Callable

from simrunner.history.script import NOT_TAKEN
from simrunner.model.tape import ADVANCE, ANALYZE, KILL, ROUND, VACUUM, Decision
from simrunner.model.view import LaneState
from simrunner.model.workload import ScriptStep
from simrunner.runtime import actors, libpq, rounds, stepping, waking
from simrunner.runtime.messages import Action, Order, Write
from simrunner.runtime.recorder import STEP_TICK_US
from simrunner.runtime.world import Lane, World


def play(world: World, started: Callable[[World], None]) -> None:
    """Take all steps of the script, then end what they left open. `started` is called when actors were started."""
    actors.start(world, world.lanes)
    started(world)
    for number, step in enumerate(world.workload.script, 1):
        world.pace()
        rounds.notice_deaths(world)
        world.follow(Decision(ROUND, amount=number))
        world.recorder.round = number
        _repeat(world, step, number)
        if step.do == "restart":
            started(world)
    _release(world)
    world.recorder.flush()


def _repeat(world: World, step: ScriptStep, number: int) -> None:
    """Take a step as often as it says, or until its actor is blocked or dead."""
    for _ in range(step.times):
        _take(world, step, number)
        if step.actor is not None and world.lane(step.actor).state is not LaneState.RESTING:
            break


def _take(world: World, step: ScriptStep, number: int) -> None:
    if step.do == "advance":
        _advance(world, _until(world, step.claim_of) + (step.ms or 0))
    elif step.do == "look":
        stepping.look(world)
    elif step.do in ("vacuum", "analyze"):
        world.follow(Decision(VACUUM if step.do == "vacuum" else ANALYZE))
        world.observer.maintain(step.do.upper())
    else:
        _act(world, world.lane(step.actor or ""), step, number)


def _act(world: World, lane: Lane, step: ScriptStep, number: int) -> None:
    if step.do == "restart":
        actors.start(world, [lane])
    elif step.do == "kill" and lane.state is not LaneState.DEAD:
        _kill(world, lane, step)
    elif lane.state is not LaneState.RESTING:
        world.recorder.event("report", **lane.who(), value=NOT_TAKEN, note=f"{lane.actor} is {lane.state}")
    else:
        lane.order = Order(number, action=_action(world, lane, step))
        lane.state = LaneState.PARKED
        rounds.play(world, may_stay_blocked=True)


def _advance(world: World, amount_ms: int) -> None:
    world.follow(Decision(ADVANCE, amount=amount_ms))
    world.advance(amount_ms)


def _until(world: World, actor: str | None) -> int:
    """Milliseconds after which the next step is taken exactly when the lease of an actor's last claim ends; 0 without one."""
    claim = world.last_claims.get(actor or "")
    lease_us = libpq.microseconds(claim[1].lease_until) if claim else None
    return 0 if lease_us is None else max(0, (lease_us - world.recorder.now_us - STEP_TICK_US) // 1000)


def _kill(world: World, lane: Lane, step: ScriptStep) -> None:
    world.follow(Decision(KILL, lane.actor, step.crash_point))
    waking.kill(world, lane, step.crash_point)
    rounds.play(world, may_stay_blocked=True)


def _action(world: World, lane: Lane, step: ScriptStep) -> Action:
    enqueue = actors.new_jobs(world, step.jobs or 1, step.priority or 0) if step.do == "enqueue" else ()
    return Action(
        step.do,
        step.isolation,
        step.job,
        step.priority,
        step.lock,
        step.limit,
        step.sorted_outside,
        step.mode,
        step.analyze,
        _write(world, step) if step.claim_of else None,
        enqueue,
    )


def _write(world: World, step: ScriptStep) -> Write | None:
    """The write of another actor's last claim, under its identity and token."""
    claim = world.last_claims.get(step.claim_of or "")
    return None if claim is None else Write(step.do, claim[0], claim[1].token, claim[1].job or "", claim[1].attempt)


def _release(world: World) -> None:
    """Roll back what is still open, so that everybody who waits goes on."""
    for lane in world.lanes:
        if lane.state is LaneState.RESTING and any(on.txn is not None for on in lane.connections):
            lane.order = Order(len(world.workload.script), action=Action("rollback"))
            lane.state = LaneState.PARKED
            rounds.play(world, may_stay_blocked=True)
