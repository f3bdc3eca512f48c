"""The coordinator: runs one workload against one design in one database and leaves a run folder to be sealed."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from time import monotonic
from typing import Any

from psycopg.pq.abc import PGconn

from simrunner.errors import Interrupted, ServerError, SimrunnerError
from simrunner.faults import plan
from simrunner.history.context import AuditRow
from simrunner.limits import LIMITS
from simrunner.model.design import Design
from simrunner.model.draws import Draws, stream_of
from simrunner.model.event import OBSERVER
from simrunner.model.tape import Decision
from simrunner.model.view import ArmedFault
from simrunner.model.workload import Workload
from simrunner.runtime import actors, clock, libpq, phases, process, setup, waking
from simrunner.runtime.committed import Committed
from simrunner.runtime.database import Database
from simrunner.runtime.observer import Observer
from simrunner.runtime.phases import Course
from simrunner.runtime.process import ActorSpec
from simrunner.runtime.recorder import Recorder
from simrunner.runtime.truth import TruthReader
from simrunner.runtime.world import Lane, World
from simrunner.store.final import write_final
from simrunner.store.folder import COMPLETE, FAILED, INTERRUPTED, RunFolder
from simrunner.store.journal import JOURNAL, Journal
from simrunner.strategies.decider import Decider, SeededDecider, TapeDecider
from simrunner.strategies.registry import STRATEGIES

LIVE_JSON = "live.json"
"""Process ids of a run under way, for `simrunner kill`."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be run."""

    design: Design
    workload: Workload
    seed: int
    mode: str
    """stepped or rounds."""
    strategy: str
    decisions: Sequence[Decision] | None = None
    """A tape to follow instead of the strategy."""
    reuse: bool = False
    """The database has seen a run of the same design: it is reset, not built."""


@dataclass(frozen=True, slots=True)
class Watcher:
    """Whom the coordinator tells how the run goes."""

    started: Callable[[Sequence[tuple[str, int]]], None]
    """(actor, process id) of all actors, whenever some were started."""
    progressed: Callable[[str, int, int], None]
    """Phase, round of the phase, rounds of the phase at most."""
    pace: Callable[[], None]
    """Called before each decision."""


def execute(request: Request, folder: RunFolder, database: Database, watcher: Watcher) -> None:
    """Run the request and leave its history, tape and final rows in the folder, with its status in run.json.

    Raises DesignError for SQL that the server refuses, Divergence when a tape cannot be followed, Interrupted, and
    EnvironmentFailure; what was recorded until then is kept.
    """
    world: World | None = None
    try:
        with _coordinating(request, folder, database, watcher) as world:
            course = _course(request, world, folder, watcher)
            phases.safety(world, course)
            phases.liveness(world, course)
            phases.end(world)
            _finish(world, folder)
        folder.update_run(status=COMPLETE, deterministic=world.is_deterministic and request.mode == "stepped")
    except (Interrupted, KeyboardInterrupt):
        folder.update_run(status=INTERRUPTED)
        raise
    except Exception as error:
        words = str(error) if isinstance(error, SimrunnerError) else f"{type(error).__name__}: {error}"
        folder.update_run(status=FAILED, error=words)
        raise


@contextmanager
def _coordinating(request: Request, folder: RunFolder, database: Database, watcher: Watcher) -> Iterator[World]:
    """Prepare the database and the world; whatever happens, no actor and no session stays."""
    with ExitStack() as cleaning:
        session = libpq.connect(database.conninfo("observer"))
        cleaning.callback(session.finish)
        journal = Journal(folder.path / JOURNAL)
        cleaning.callback(journal.close)
        world = _world(request, database, session, journal, watcher)
        cleaning.callback(_clean_up, world)
        yield world


def _clean_up(world: World) -> None:
    # A second Ctrl-C must not leave processes behind.
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        _end_all(world)
        world.recorder.flush()
    finally:
        signal.signal(signal.SIGINT, previous)


def _prepare(request: Request, database: Database, session: PGconn) -> tuple[str, ...]:
    if request.reuse:
        truncate_sql = database.truncate_sql(setup.tables(session))
        return setup.reinstall(session, request.design, request.workload, truncate_sql)
    return setup.install(session, request.design, request.workload)


def _world(request: Request, database: Database, session: PGconn, journal: Journal, watcher: Watcher) -> World:
    design, workload = request.design, request.workload
    seeded = _prepare(request, database, session)
    observer = Observer(session, design)
    observer.prepare()
    draws = Draws(request.seed)
    recorder = Recorder(journal, draws, setup.VIRTUAL_START_US)
    lanes = actors.lanes_of(workload)
    armed = plan.arm(workload, [lane.actor for lane in lanes if lane.program == "worker"], draws)
    barriers = _barriers(request)

    def spec_of(lane: Lane) -> ActorSpec:
        name = f"{lane.actor}.{lane.incarnation}"
        return ActorSpec(
            lane.actor,
            lane.incarnation,
            lane.program,
            database.conninfo(lane.actor),
            (_seed_session(request.seed, name),),
            design,
            workload,
            database.superuser,
            barriers,
        )

    recorder.event("run", actor=OBSERVER, value="start")
    recorder.event("phase", actor=OBSERVER, value="setup")
    world = World(
        design,
        workload,
        draws,
        recorder,
        observer,
        TruthReader(session),
        Committed(),
        _decider(request, armed),
        lanes,
        spec_of,
        watcher.pace,
        database.can_signal_backends,
        cohort=frozenset(seeded),
        armed=armed,
        barriers=barriers,
    )
    setup.record_seed(world)
    recorder.flush()
    return world


def _barriers(request: Request) -> tuple[Barrier, ...]:
    if request.mode != "rounds":
        return ()
    return tuple(multiprocessing.Barrier(request.workload.actors.workers) for _ in range(LIMITS.barriers))


def _decider(request: Request, armed: list[ArmedFault]) -> Decider:
    if request.decisions is not None:
        return TapeDecider(request.decisions)
    make = next(entry.make for entry in STRATEGIES if entry.name == request.strategy)
    return SeededDecider(make(request.seed), lambda view: plan.due(armed, view))


def _course(request: Request, world: World, folder: RunFolder, watcher: Watcher) -> Course:
    def started(world: World) -> None:
        folder.write_json(LIVE_JSON, _live(world))
        watcher.started([(lane.actor, lane.process.pid) for lane in world.lanes if lane.process])

    return Course(started, watcher.progressed, concurrent=request.mode == "rounds")


def _live(world: World) -> dict[str, Any]:
    running = {lane.actor: lane.process for lane in world.lanes if lane.process is not None}
    return {
        "coordinator": {"pid": os.getpid(), "started": process.start_time(os.getpid())},
        "actors": {actor: {"pid": one.pid, "started": one.started} for actor, one in running.items()},
    }


def _finish(world: World, folder: RunFolder) -> None:
    """Read the final committed state and close the history."""
    recorder = world.recorder
    jobs = [(recorder.job(row.job) or 0, row) for row in world.observer.all_jobs()]
    reply = world.observer.audit()
    audit = None if reply is None else [_audit_row(recorder, reply, row) for row in reply.rows]
    recorder.event("run", actor=OBSERVER, value="end")
    recorder.flush()
    write_final(folder, jobs, audit)


def _audit_row(recorder: Recorder, reply: libpq.Reply, row: tuple[str | None, ...]) -> AuditRow:
    values = dict(zip(reply.columns, row, strict=True))
    attempt = values.get("attempt")
    return AuditRow(
        recorder.job(values.get("job")) or 0,
        None if attempt is None else int(attempt),
        recorder.token(values.get("token")),
        values.get("from_state"),
        values.get("to_state"),
    )


def _end_all(world: World) -> None:
    """Kill what still runs and wait until its backends have gone."""
    left = [*world.orphans, *(lane for lane in world.lanes if lane.process is not None)]
    for lane in left:
        if lane.process is not None:
            process.kill(lane.process)
            lane.process.gate.close()
            lane.process = None
    waking.go_on_all(world, left)
    deadline = monotonic() + LIMITS.interrupt_seconds
    with suppress(ServerError):  # the server itself may be gone; the first failure is the one to tell
        while any(world.observer.is_alive(lane.backend_pid) for lane in left) and monotonic() < deadline:
            continue


def _seed_session(seed: int, name: str) -> str:
    """The seed of a session's random functions: one per actor and incarnation."""
    return clock.set_seed(stream_of(seed, f"session/{name}").random())
