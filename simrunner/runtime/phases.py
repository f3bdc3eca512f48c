"""The course of a run: safety phase with faults, liveness phase without, final reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from simrunner.errors import StepStuck
from simrunner.model.event import OBSERVER
from simrunner.model.job import TERMINAL, JobState
from simrunner.model.tape import ADVANCE, ROUND, VACUUM, Decision
from simrunner.model.view import LaneState
from simrunner.runtime import actors, process, race, rounds, script, sessions, stepping, striking
from simrunner.runtime.world import Lane, World


@dataclass(slots=True)
class Course:
    """How rounds are played, and who is told."""

    started: Callable[[World], None]
    """Called when actors were started: their process ids have changed."""
    progressed: Callable[[str, int, int], None]
    """Called at each round: phase, round of the phase, rounds of the phase at most."""
    concurrent: bool


def safety(world: World, course: Course) -> None:
    """Play the rounds in which producers produce and faults strike."""
    _enter(world, "safety")
    if world.workload.script:
        course.progressed("safety", 1, 1)
        script.play(world, course.started)
        return
    bounds = world.workload.safety
    for number in range(1, bounds.rounds + 1):
        course.progressed("safety", number, bounds.rounds)
        _round(world, course, number, bounds.round_ms if number > 1 else 0, producing=True)


def liveness(world: World, course: Course) -> None:
    """Play rounds without faults until every cohort job has ended and nothing is owned, or the bound is reached."""
    if world.workload.script:
        return
    _enter(world, "liveness")
    world.armed.clear()
    striking.end_due(world, None)
    bounds = world.workload.liveness
    first = world.workload.safety.rounds
    for number in range(1, bounds.rounds + 1):
        if _is_settled(world):
            break
        course.progressed("liveness", number, bounds.rounds)
        _round(world, course, first + number, bounds.round_ms, producing=False)


def end(world: World) -> None:
    """End the actors; what is committed afterwards is final. Returns when the backends of those that ended have gone.

    Until then they hold the locks of their sessions, and the next run may be about to begin.
    """
    _enter(world, "end")
    world.recorder.round = None
    ended: list[Lane] = []
    for lane in world.lanes:
        if lane.process is not None:
            one = lane.process._replace(backends=tuple(on.backend_pid for on in lane.connections))
            world.recorder.event("process-end", **lane.who(), value=world.dismiss(one))
            ended += [lane] * process.has_ended(one.pid)  # else it is kept
            lane.process = None
    for lane in ended:
        for on in lane.connections:
            if on.backend_pid:
                sessions.wait_until_gone(world, lane, on)


def _enter(world: World, phase: str) -> None:
    world.recorder.phase = phase
    world.recorder.event("phase", actor=OBSERVER, value=phase)


def _round(world: World, course: Course, number: int, advance_ms: int, *, producing: bool) -> None:
    world.pace()
    rounds.notice_deaths(world)
    world.follow(Decision(ROUND, amount=number))
    world.recorder.round = number
    if advance_ms:
        _advance(world, advance_ms)
    every = world.workload.vacuum_every_rounds
    if every and number % every == 0:
        world.follow(Decision(VACUUM))
        world.observer.maintain("VACUUM")
    striking.end_due(world, number)
    if any(lane.process is None and not lane.starts_later for lane in world.lanes):
        actors.start(world, world.lanes)
        course.started(world)
    if course.concurrent:
        stepping.probe_round(world, world.workload.actors.workers)
        _race(world, number)
    actors.order_round(world, number, producing=producing, working=not course.concurrent)
    rounds.play(world)
    world.recorder.flush()


def _race(world: World, number: int) -> None:
    workers = [lane for lane in world.lanes if lane.program == "worker"]
    poisoned = race.play(world, workers, number)
    if poisoned:
        world.barrier += 1
        if world.barrier == len(world.barriers):
            raise StepStuck(
                f"{len(world.barriers)} rounds were broken by workers that died at the barrier; find out who kills them"
            )
    world.recorder.flush()


def _advance(world: World, advance_ms: int) -> None:
    world.follow(Decision(ADVANCE, amount=advance_ms))
    world.advance(advance_ms)


def _is_settled(world: World) -> bool:
    if any(lane.state in (LaneState.PARKED, LaneState.BLOCKED) for lane in world.lanes):
        return False  # it was paused in the middle of what it did
    rows = world.committed.rows
    if any(row.state is JobState.CLAIMED for row in rows.values()):
        return False
    cohort = rows.values() if world.workload.cohort == "all" else (rows[job] for job in rows if job in world.cohort)
    return all(row.state in TERMINAL for row in cohort)
