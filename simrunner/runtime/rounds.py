"""One stepped round: exactly one actor runs at a time, and a decision says who."""

from __future__ import annotations

import select

from simrunner.errors import StepStuck
from simrunner.model.tape import STEP
from simrunner.model.view import LaneState, View
from simrunner.runtime import crashes, stepping, steps, striking, waiting, waking
from simrunner.runtime.messages import ROUND, Go, Report
from simrunner.runtime.world import Lane, World


def play(world: World, *, may_stay_blocked: bool = False) -> None:
    """Take decisions until every actor has used its opportunity of the round or is dead. Raises StepStuck, Divergence.

    `may_stay_blocked`: a script may leave an actor waiting while others go on.
    """
    if world.coalesces:
        _begin(world)
    while _anyone_parked(world):
        world.pace()
        view = notice_deaths(world)
        if view.enabled():
            take_step(world, view)
    stuck = [lane.actor for lane in world.lanes if lane.state is LaneState.BLOCKED]
    paused = any(lane.state is LaneState.PAUSED for lane in world.lanes)  # it may hold the lock, and goes on later
    if stuck and not paused and not may_stay_blocked:
        raise StepStuck(f"nobody can go on: {', '.join(stuck)} wait for locks that no actor of the run will release")


def take_step(world: World, view: View) -> None:
    """Take one decision and carry it out."""
    decision = world.decider.decide(view)
    world.recorder.decide(decision)
    lane = None if decision.actor is None else world.lane(decision.actor)
    if lane is None or lane.intent is None or lane.intent.label != ROUND:  # to be told what to do takes no time
        world.recorder.tick()
    if decision.kind == STEP and lane is not None:
        steps.take(world, lane)
    else:
        striking.strike(world, decision)


def notice_deaths(world: World) -> View:
    """Record actors that died without a decision, e.g. by a `kill -9` from outside; on a replay, those of the tape.

    Returns the view of those that live.
    """
    view = world.view()
    while (actor := world.decider.death(view)) is not None:
        waking.found_dead(world, world.lane(actor))
        view = world.view()
    dead = [lane for lane in _speaking(world) if _has_ended(lane)]
    for lane in dead:
        waking.found_dead(world, lane)
    return world.view() if dead else view


def _has_ended(lane: Lane) -> bool:
    """Whether an actor that speaks at a decision is dead, or was told to end from outside and tidies up unasked."""
    unasked = lane.state in (LaneState.PARKED, LaneState.RESTING)
    return unasked or (lane.process is not None and lane.process.gate.is_dead())


def _speaking(world: World) -> list[Lane]:
    """The actors whose gate has something to tell: nobody does at a decision but those that have died or were just freed."""
    gates = {lane.process.gate.fileno(): lane for lane in world.lanes if lane.process is not None}
    poll = select.poll()
    for number in gates:
        poll.register(number, select.POLLIN)
    spoken = dict(poll.poll(0))
    return [lane for number, lane in gates.items() if number in spoken]


def _begin(world: World) -> None:
    """Hand out all orders at once where the beginning of a round is no step: until its first statement an actor does nothing.

    Raises StepStuck.
    """
    parked = [lane for lane in world.lanes if lane.state is LaneState.PARKED]
    begun = [lane for lane in parked if lane.intent is not None and lane.intent.label == ROUND]
    for lane in begun:
        if lane.process is not None and lane.order is not None:
            lane.pending, lane.intent = lane.intent, None
            lane.process.gate.open(Go(world.recorder.now_us, order=lane.hand_over(lane.order)))
    for lane in begun:
        report = waiting.outcome(world, lane)
        if isinstance(report, Report):
            stepping.finish(world, lane, report)
        else:
            crashes.died_in_step(world, lane)


def _anyone_parked(world: World) -> bool:
    return any(lane.state is LaneState.PARKED for lane in world.lanes)
