"""Starting actors and giving each its order for a round."""

from __future__ import annotations

from collections.abc import Iterable

from simrunner.model.view import LaneState
from simrunner.model.workload import Workload
from simrunner.runtime import sessions
from simrunner.runtime.messages import ROUND, Enqueue, Intent, Order, Write
from simrunner.runtime.world import Lane, World

RECOVERY = ("recover", "recover-read")
"""Operations with one of which a recoverer begins."""


def lanes_of(workload: Workload) -> list[Lane]:
    """One lane per actor: workers, producers, recoverers, and a ghost if writes are to be replayed; or a script's sessions."""
    if workload.script:
        return [Lane(actor, "session") for actor in dict.fromkeys(step.actor for step in workload.script) if actor]
    lanes = [Lane(f"worker-{_letter(number)}", "worker") for number in range(workload.actors.workers)]
    lanes += [Lane(_numbered("producer", number), "producer") for number in range(len(workload.actors.producers))]
    lanes += [Lane(_numbered("recoverer", number), "recoverer") for number in range(workload.actors.recoverers)]
    return lanes + [Lane("ghost", "ghost")] * bool(workload.actors.ghost_operations)


def start(world: World, lanes: Iterable[Lane]) -> None:
    """Start the next incarnation of every given actor that has no process; each rests. Raises ServerError."""
    for lane in [lane for lane in lanes if lane.process is None and not lane.starts_later]:
        lane.incarnation += 1
        lane.process = one = world.cast()
        lane.role = world.role(lane)
        sessions.begin(world, lane.connection, one.backends[0])
        lane.intent, lane.state = Intent(ROUND), LaneState.RESTING
        world.recorder.event("process-start", **lane.who(), value=lane.program)


def order_round(world: World, number: int, *, producing: bool, working: bool) -> None:
    """Hand out the orders of a stepped round. An actor with nothing to do rests; one that is paused or still waits gets none."""
    for lane in world.lanes:
        if lane.state is not LaneState.RESTING or (lane.program == "worker" and not working):
            continue  # it has no process, or has not ended what it was told before
        lane.order = _order(world, lane, number, producing)
        if lane.order is not None:
            lane.state = LaneState.PARKED


def _order(world: World, lane: Lane, number: int, producing: bool) -> Order | None:
    if lane.program == "worker":
        return Order(number)
    if lane.program == "recoverer":
        return Order(number) if any(world.design.offers(name) for name in RECOVERY) else None
    if lane.program == "ghost":
        writes = _due_writes(world)
        return Order(number, writes=writes) if writes else None
    if not producing or not world.design.offers("enqueue"):
        return None
    producers = [other for other in world.lanes if other.program == "producer"]
    producer = world.workload.actors.producers[producers.index(lane)]
    return Order(number, enqueue=new_jobs(world, producer.jobs_per_round, producer.priority))


def _due_writes(world: World) -> tuple[Write, ...]:
    """Writes of dead incarnations whose ownership was meanwhile ended by another."""
    due: list[Write] = []
    for ghost in world.ghosts:
        row = world.committed.rows.get(ghost.writes[0].job)
        if row is None or row.token != ghost.writes[0].token:
            ghost.rounds_left -= 1
            due += ghost.writes
    world.ghosts = [ghost for ghost in world.ghosts if ghost.rounds_left > 0]
    return tuple(due)


def new_jobs(world: World, jobs: int, priority: int) -> tuple[Enqueue, ...]:
    """The next jobs to be enqueued: ids go on from the fixture's."""
    first = world.next_job
    world.next_job += jobs
    payload = world.workload.payload
    return tuple(Enqueue(str(job), f"job-{job}", priority, payload(str(job))) for job in range(first, world.next_job))


def _letter(number: int) -> str:
    """Name workers a to z, then aa, ab, ..."""
    letter = chr(ord("a") + number % 26)
    return letter if number < 26 else _letter(number // 26 - 1) + letter


def _numbered(name: str, number: int) -> str:
    return name if number == 0 else f"{name}-{number + 1}"
