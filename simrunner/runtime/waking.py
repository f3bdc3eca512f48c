"""Which waiter wakes is a decision: when one step frees several, they go on one at a time.

The waiters are stopped before the step. Whoever was granted its lock by the step is then known for certain, and of several the
decision says who goes first; the others stand still until it has finished or waits again. Waiters for one row queue up in the
server behind each other, so a step frees the first of them only: among those there is nothing to decide.

A waiting backend sleeps in the server's lock manager and holds no latch, so SIGSTOP only keeps it from noticing that it was
granted its lock before its turn.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from contextlib import suppress

from simrunner.runtime import crashes, stepping, waiting
from simrunner.runtime.waiting import Waited
from simrunner.runtime.world import Lane, World


def hold(world: World, lane: Lane) -> list[Lane]:
    """Return who waits behind an actor that is about to take a step; several of them are stopped."""
    waiters = waiting.behind(world, lane)
    if len(waiters) > 1:
        _signal(world, waiters, signal.SIGSTOP)
    return waiters


def release(world: World, waiters: Sequence[Lane]) -> None:
    """After the step, let those go on that it freed, one after another, until all others verifiably wait."""
    several = len(waiters) > 1
    held = list(waiters)
    while free := [lane for lane in held if not waiting.is_held_up(world, lane)]:
        lane = _first(world, free)
        if several:
            _signal(world, [lane], signal.SIGCONT)
        if _go_on(world, lane):
            held.remove(lane)
        elif several:
            _signal(world, [lane], signal.SIGSTOP)
    if several:
        _signal(world, held, signal.SIGCONT)


def kill(world: World, lane: Lane, label: str | None) -> None:
    """SIGKILL an actor by decision, and let those go on that waited for it."""
    waiters = hold(world, lane)
    crashes.kill(world, lane, label)
    release(world, waiters)


def found_dead(world: World, lane: Lane) -> None:
    """Record an actor that died between two decisions, and let those go on that waited for it."""
    waiters = hold(world, lane)
    if len(waiters) > 1:  # they may have raced before its death was noticed
        world.is_deterministic = False
    crashes.unplanned(world, lane)
    release(world, waiters)


def go_on_all(world: World, lanes: Sequence[Lane]) -> None:
    """Continue backends that an interrupted step may have left stopped: they could not end."""
    if world.can_signal_backends:
        _signal(world, [lane for lane in lanes if lane.connection.backend_pid], signal.SIGCONT)


def _first(world: World, free: Sequence[Lane]) -> Lane:
    """Decide who goes first. Orphans do, without a decision: what they still do is undone when they leave."""
    if len(free) == 1 or free[0].process is None:
        return free[0]
    decision = world.decider.wake(world.view(), [lane.actor for lane in free])
    world.recorder.decisions.append(decision)
    return next(lane for lane in free if lane.actor == decision.actor)


def _go_on(world: World, lane: Lane) -> bool:
    """Wait for what a waiter does now that it was freed. False: it waits for another lock."""
    if lane.process is None:
        left = crashes.has_left(world, lane)
        if left:
            world.orphans.remove(lane)
        return left
    report = waiting.outcome(world, lane)
    if report is Waited.BLOCKED:
        return False
    if report is Waited.DEAD:
        crashes.died_in_step(world, lane)
    elif not isinstance(report, Waited):
        stepping.finish(world, lane, report)
    return True


def _signal(world: World, lanes: Sequence[Lane], number: signal.Signals) -> None:
    if not world.can_signal_backends:
        world.is_deterministic = world.is_deterministic and not lanes
        return
    for lane in lanes:
        with suppress(ProcessLookupError):
            os.kill(lane.connection.backend_pid, number)
