"""A crash of the server in the middle of a run, until it has recovered and its whole state was read again.

What the log did not hold by then is lost. Each job that is no longer as it was committed changes by a transition of the actor
`server`. Actors notice at their next statement; those whose statement waited for a lock notice at once, and are stopped for as
long as the server is away, so that they do not try to connect to it.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from simrunner.model.event import SERVER
from simrunner.model.operations import CRASH_POINTS
from simrunner.model.tape import SERVER_CRASH, Decision
from simrunner.model.view import LaneState
from simrunner.runtime import bystander, commits, process, sessions, steps, waiting
from simrunner.runtime.world import World


def crash(world: World, decision: Decision) -> None:
    """Crash the server, start it again, and record what became of everybody's sessions and of committed state."""
    point = decision.label if decision.label in CRASH_POINTS else None
    world.recorder.event("fault", actor=SERVER, value=decision.kind, crash_point=point)
    waiting_ones = [lane for lane in world.lanes if lane.state is LaneState.BLOCKED and lane.process is not None]
    for lane in waiting_ones:
        if lane.process is not None:
            process.pause(lane.process)
    world.crash_server()
    world.recorder.event("server-restart", actor=SERVER)
    for lane in (*world.orphans, *world.lanes):
        sessions.forget(world, lane)
    world.orphans.clear()
    bystander.leave(world)
    commits.record_restored(world)
    for lane in waiting_ones:
        intent = lane.pending
        if lane.process is not None and intent is not None:
            process.resume(lane.process)
            steps.end(world, lane, intent, waiting.outcome(world, lane))
    keep_log_back(world)


def keep_log_back(world: World) -> None:
    """Stop the server's WAL writer where a crash is to lose what it has not written: see `synchronous_commit` of a design."""
    if not world.design.session.commits_survive and any(fault.spec.kind == SERVER_CRASH for fault in world.armed):
        _signal(world, signal.SIGSTOP)


def let_log_go(world: World) -> None:
    """Continue the WAL writer."""
    if not world.design.session.commits_survive:
        _signal(world, signal.SIGCONT)


def _signal(world: World, number: signal.Signals) -> None:
    for pid in world.observer.wal_writers():
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        while number == signal.SIGSTOP and not process.is_stopped(pid):
            continue
