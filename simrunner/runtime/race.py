"""One concurrent round: every worker has one claim opportunity, all are released at once, and who gets which job is a race.

Workers report ready on their pipes and only after a go enter a barrier that was made before they were forked; the coordinator
is never a party. A party that is killed inside can leave the others waiting for ever: the coordinator watches the processes,
kills those that are stuck, and the next round repeats the opportunity with a fresh barrier.

What happened is recorded when the round is over: outcomes in the order in which they were told, and each committed change right
after the COMMIT that made it durable, in the order of the row locks.
"""

from __future__ import annotations

import select
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic

from simrunner.errors import StepStuck
from simrunner.limits import LIMITS
from simrunner.model.operations import WORKER_CRASH_POINTS
from simrunner.model.tape import KILL, UNPLANNED, Decision
from simrunner.model.view import ArmedFault, LaneState
from simrunner.runtime import commits, crashes, process, sessions, stepping
from simrunner.runtime.messages import BARRIER, ROUND, Go, Order, Report
from simrunner.runtime.world import Lane, World

_STUCK_AFTER_SECONDS = 0.5
"""Once a worker died before it passed the barrier, the others have this long to show that they passed."""


@dataclass(slots=True)
class Race:
    """A concurrent round under way."""

    workers: Sequence[Lane]
    number: int
    barrier: int
    stops: dict[str, ArmedFault | None]
    """The fault that is due for a worker in this round."""
    told: list[tuple[Lane, Report | str]] = field(default_factory=list)
    """What was told, in order: a report, or how the process ended."""
    passed: set[str] = field(default_factory=set)
    """Actors that passed the barrier. For membership tests only."""
    running: list[Lane] = field(default_factory=list)
    poisoned: bool = False
    """Someone died before passing the barrier: it must not be used again."""


def play(world: World, workers: Sequence[Lane], number: int) -> bool:
    """Run the workers' claims of one round concurrently and record them. Raises StepStuck.

    Returns whether a worker died before it passed the barrier, which must then not be used again.
    """
    race = Race(workers, number, world.barrier, {lane.actor: _stop(world, lane) for lane in workers})
    world.recorder.flush()
    if _gather(world, race):
        _release(world, race)
        _collect(world, race)
    _record(world, race)
    struck = [stop for stop in race.stops.values() if stop is not None and _struck(race, stop)]
    world.armed[:] = [fault for fault in world.armed if fault not in struck]
    return race.poisoned


def _stop(world: World, lane: Lane) -> ArmedFault | None:
    """The fault that is due for a worker in this round."""
    number = world.recorder.round or 0
    due = (fault for fault in world.armed if fault.round <= number and fault.spec.crash_point in WORKER_CRASH_POINTS)
    return next((fault for fault in due if fault.actor in (None, lane.actor)), None)


def _struck(race: Race, fault: ArmedFault) -> bool:
    point = fault.spec.crash_point
    return any(
        isinstance(told, Report) and told.waits and told.intent.crash_point == point and fault.actor in (None, lane.actor)
        for lane, told in race.told
    )


def _gather(world: World, race: Race) -> bool:
    """Hand out the orders and wait until every worker is ready. False: one died, the round is called off."""
    for lane in race.workers:
        stop = race.stops[lane.actor]
        lane.order = Order(race.number, barrier=race.barrier, stop_at=stop.spec.crash_point if stop else None)
        _open(lane, Go(world.recorder.now_us, order=lane.hand_over(lane.order)))
    ready = [lane for lane in race.workers if _is_ready(world, race, lane)]
    if len(ready) == len(race.workers):
        return True
    for lane in ready:
        _open(lane, Go(world.recorder.now_us, order=Order(race.number)))
        _is_ready(world, race, lane)
    return False


def _is_ready(world: World, race: Race, lane: Lane) -> bool:
    if lane.process is None or not lane.process.gate.wait(LIMITS.step_seconds * 1000):
        raise StepStuck(f"{lane.actor} did not get ready for round {race.number} within {LIMITS.step_seconds:.0f} s")
    report = lane.process.gate.receive()
    if report is None:
        race.told.append((lane, process.reap(lane.process)))
        return False
    stepping.note_sessions(world, lane, report)
    lane.intent = report.intent
    return report.intent.label in (BARRIER, ROUND)


def _release(world: World, race: Race) -> None:
    race.running = list(race.workers)
    for lane in race.workers:
        _open(lane, Go(world.recorder.now_us))


def _open(lane: Lane, go: Go) -> None:
    if lane.process is not None:
        lane.process.gate.open(go)


def _collect(world: World, race: Race) -> None:
    """Take down what the workers tell until each rests, was killed, or died."""
    deadline = monotonic() + LIMITS.step_seconds
    stuck_at: float | None = None
    while race.running:
        for lane in _readable(race.running):
            _hear(race, lane)
        if race.poisoned and stuck_at is None:
            stuck_at = monotonic() + _STUCK_AFTER_SECONDS
        if stuck_at is not None and monotonic() > stuck_at:
            _free_stuck(race)
        if monotonic() > deadline:
            names = ", ".join(lane.actor for lane in race.running)
            raise StepStuck(f"{names} did not finish round {race.number} within {LIMITS.step_seconds:.0f} s")


def _readable(lanes: Sequence[Lane]) -> list[Lane]:
    by_number = {lane.process.gate.fileno(): lane for lane in lanes if lane.process is not None}
    poll = select.poll()
    for number in by_number:
        poll.register(number, select.POLLIN)
    return [by_number[number] for number, _ in poll.poll(10)]


def _hear(race: Race, lane: Lane) -> None:
    if lane.process is None:
        return
    report = lane.process.gate.receive()
    if report is None:
        race.told.append((lane, process.reap(lane.process)))
        race.poisoned = race.poisoned or lane.actor not in race.passed
        race.running.remove(lane)
        return
    race.passed.add(lane.actor)
    race.told.append((lane, report))
    if report.waits:  # it rests, or stands at the crash point at which it is to be killed
        race.running.remove(lane)
        stop = race.stops[lane.actor]
        if stop is not None and report.intent.crash_point == stop.spec.crash_point:
            race.told.append((lane, process.kill(lane.process)))


def _free_stuck(race: Race) -> None:
    """Kill the workers that a dead party has left inside the barrier."""
    for lane in [lane for lane in race.running if lane.actor not in race.passed and lane.process is not None]:
        if lane.process is not None:
            race.told.append((lane, process.kill(lane.process)))
            race.running.remove(lane)


def _record(world: World, race: Race) -> None:
    for lane, told in race.told:
        if isinstance(told, str):
            for on in lane.connections:
                if on.backend_pid:
                    sessions.wait_until_gone(world, lane, on)
    commits.read_new(world)
    for lane, told in race.told:
        if isinstance(told, Report):
            stepping.finish(world, lane, told)
            if told.intent.label != ROUND and not told.waits:
                lane.pending = told.intent
                stepping.begin(world, lane, told.intent)
        else:
            _record_end(world, race, lane, told)
    commits.record_until(world, None)
    for lane in race.workers:
        if lane.process is not None:
            lane.order, lane.state = None, LaneState.RESTING


def _record_end(world: World, race: Race, lane: Lane, ended: str) -> None:
    stop = race.stops[lane.actor]
    point = lane.intent.crash_point if lane.intent and lane.pending is None else None
    planned = stop is not None and point == stop.spec.crash_point
    world.recorder.decide(Decision(KILL, lane.actor, point if planned else UNPLANNED))
    value = "kill" if planned else UNPLANNED if lane.actor in race.passed or not race.poisoned else "barrier-stuck"
    world.recorder.event("fault", **lane.who(), value=value, crash_point=point if planned else None)
    if lane.process is not None:
        lane.process.gate.close()
    for remains in crashes.record_death(world, lane, ended):
        on = remains.connection
        sessions.record_gone(world, remains, on)
        commits.record_until(world, on.key)
        world.transactions.pop(on.key, None)
