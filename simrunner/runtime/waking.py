"""Which waiter wakes is a decision: before a step that may free several, all but the chosen one are stopped.

A waiting backend sleeps in the server's lock manager and holds no latch, so SIGSTOP only keeps it from noticing that it was
granted its lock before its turn.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from contextlib import suppress

from simrunner.model.view import LaneState
from simrunner.runtime import crashes, stepping, waiting
from simrunner.runtime.waiting import Waited
from simrunner.runtime.world import Lane, World


def choose(world: World, pid: int) -> list[Lane]:
    """Decide in which order the waiters behind a backend go on, and stop all of them. At most one waiter: no decision."""
    waiters = waiting.waiting_on(world, pid)
    if len(waiters) < 2:
        return waiters
    order: list[Lane] = []
    while len(waiters) > 1:
        decision = world.decider.wake(world.view(), [lane.actor for lane in waiters])
        world.recorder.decisions.append(decision)
        chosen = next(lane for lane in waiters if lane.actor == decision.actor)
        waiters.remove(chosen)
        order.append(chosen)
    order += waiters
    _signal(world, order, signal.SIGSTOP)
    return order


def settle(world: World, order: Sequence[Lane]) -> None:
    """Let the waiters go on one after another, each until it finished or is blocked again, until nothing changes any more.

    While one goes on the others stand still: a waiter that gives up its place in the queue of a row, because the row has
    changed, would otherwise let the next one overtake it. What one left behind may let another go on: hence the repetition.
    """
    alone = len(order) < 2
    before: list[tuple[str, tuple[int, ...]]] | None = None
    while before != (now := _standing(order)) and now:
        before = now
        for lane in order:
            if lane.state is LaneState.BLOCKED:
                _go_on(world, lane, alone=alone)
        if alone:
            break
    if not alone:
        _signal(world, [lane for lane in order if lane.state is LaneState.BLOCKED], signal.SIGCONT)
    crashes.settle_orphans(world)


def found_dead(world: World, lane: Lane) -> None:
    """Record a death that nobody decided, and find out where those stand that waited for the dead."""
    waiters = waiting.waiting_on(world, lane.backend_pid)
    crashes.unplanned(world, lane)
    if len(waiters) > 1:  # they were freed before anybody could choose among them
        world.is_deterministic = False
    for waiter in waiters:
        if waiter.state is LaneState.BLOCKED:
            recheck(world, waiter)


def _standing(order: Sequence[Lane]) -> list[tuple[str, tuple[int, ...]]]:
    """Who still waits, and for whom."""
    return [(lane.actor, lane.blockers) for lane in order if lane.state is LaneState.BLOCKED]


def _go_on(world: World, lane: Lane, *, alone: bool) -> None:
    if not alone:
        _signal(world, [lane], signal.SIGCONT)
    recheck(world, lane)
    if not alone and lane.state is LaneState.BLOCKED:
        _signal(world, [lane], signal.SIGSTOP)


def recheck(world: World, lane: Lane) -> None:
    """Find out where a blocked statement stands now."""
    report = waiting.outcome(world, lane)
    if report is Waited.DEAD:
        found_dead(world, lane)
    elif not isinstance(report, Waited):
        ends = lane.pending is not None and lane.pending.ends
        stepping.finish(world, lane, report)
        if ends:
            settle(world, choose(world, lane.backend_pid))


def _signal(world: World, lanes: Sequence[Lane], number: signal.Signals) -> None:
    if not world.can_signal_backends:
        world.is_deterministic = world.is_deterministic and not lanes
        return
    for lane in lanes:
        with suppress(ProcessLookupError):
            os.kill(lane.backend_pid, number)
