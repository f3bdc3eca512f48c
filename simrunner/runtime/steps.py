"""One step of an actor: its gate opens, and it finishes, waits for a lock, or the actor dies."""

from __future__ import annotations

from simrunner.model.view import LaneState
from simrunner.runtime import crashes, process, stepping, waiting, waking
from simrunner.runtime.messages import EXIT, ROUND, Go, Intent, Report, Trouble
from simrunner.runtime.waiting import Waited
from simrunner.runtime.world import Lane, World


def take(world: World, lane: Lane, trouble: Trouble | None = None) -> None:
    """Let an actor take its step, with something going wrong in it, and let those go on whom it frees. Raises StepStuck."""
    intent = lane.intent
    if intent is None or lane.process is None:
        return
    if intent.label == EXIT:
        crashes.bury(world, lane, process.dismiss)  # it has tidied up
        return
    waiters = waking.hold(world, lane)
    begin(world, lane, intent, trouble)
    end(world, lane, intent, waiting.outcome(world, lane))
    waking.release(world, waiters)


def end(world: World, lane: Lane, intent: Intent, report: Report | Waited) -> None:
    """Record how a step ended, or that it waits for a lock."""
    if report is Waited.BLOCKED:
        lane.state = LaneState.BLOCKED
        stepping.blocked(world, lane, intent, waiting.blocker_names(world, lane))
    elif report is Waited.DEAD:
        crashes.died_in_step(world, lane)
    elif not isinstance(report, Waited):
        stepping.finish(world, lane, report)


def begin(world: World, lane: Lane, intent: Intent, trouble: Trouble | None) -> None:
    """Record the beginning of a step and open its gate."""
    stepping.begin_deferred(world, lane)
    stepping.begin(world, lane, intent)
    lane.pending, lane.intent = intent, None
    order = lane.hand_over(lane.order) if intent.label == ROUND and lane.order is not None else None
    if lane.process is not None:
        lane.process.gate.open(Go(world.recorder.now_us, bool(world.waiters()), order, trouble, lane.skew_ms))
