"""Which waiter wakes is a decision: before a step that may free several, all but the chosen one are stopped.

A waiting backend sleeps in the server's lock manager and holds no latch, so SIGSTOP only keeps it from noticing that it was
granted its lock before its turn.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence

from simrunner.model.view import LaneState
from simrunner.runtime import crashes, stepping, waiting
from simrunner.runtime.waiting import Waited
from simrunner.runtime.world import Lane, World


def choose(world: World, pid: int) -> list[Lane]:
    """Decide in which order the waiters behind a backend go on, and stop all but the first. At most one waiter: no decision."""
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
    _signal(world, order[1:], signal.SIGSTOP)
    return order


def settle(world: World, order: Sequence[Lane]) -> None:
    """Let the waiters go on one after another, each until it finished or is blocked again."""
    for place, lane in enumerate(order):
        if place:
            _signal(world, [lane], signal.SIGCONT)
        if lane.state is LaneState.BLOCKED:
            recheck(world, lane)
    crashes.settle_orphans(world)


def recheck(world: World, lane: Lane) -> None:
    """Find out where a blocked statement stands now."""
    report = waiting.outcome(world, lane)
    if report is Waited.DEAD:
        crashes.unplanned(world, lane)
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
        os.kill(lane.backend_pid, number)
