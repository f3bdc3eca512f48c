"""One run on a stage: from the reset database to the final committed state, recorded in a ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic

from simrunner.errors import ServerError
from simrunner.faults import plan
from simrunner.history.context import AuditRow
from simrunner.limits import LIMITS
from simrunner.model.design import Design
from simrunner.model.draws import Draws
from simrunner.model.event import OBSERVER
from simrunner.model.job import JobRow
from simrunner.model.tape import Decision
from simrunner.model.view import ArmedFault
from simrunner.model.workload import Workload
from simrunner.runtime import actors, bystander, crashing, libpq, phases, process, setup, waking
from simrunner.runtime.committed import Committed
from simrunner.runtime.holding import signals_held
from simrunner.runtime.messages import Role
from simrunner.runtime.phases import Course
from simrunner.runtime.recorder import Ledger, Recorder
from simrunner.runtime.stage import Stage
from simrunner.runtime.world import Lane, World
from simrunner.strategies.decider import Decider, SeededDecider, TapeDecider
from simrunner.strategies.registry import STRATEGIES, StrategyOptions


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
    options: StrategyOptions = StrategyOptions()  # noqa: RUF009 - frozen
    decider: Decider | None = None
    """Who decides instead of strategy and faults, e.g. an exhaustive search."""
    coalesce: bool = False
    """BEGIN and local actions are no steps of their own."""
    reuse: bool = False
    """The database has seen a run of the same design: it is reset, not built."""


@dataclass(frozen=True, slots=True)
class Final:
    """The committed state in which a run ended, as read from the database."""

    jobs: tuple[tuple[int, JobRow], ...]
    audit: tuple[AuditRow, ...] | None
    """None: the design offers no audit trail."""
    is_deterministic: bool


def perform(
    request: Request, stage: Stage, ledger: Ledger, course_of: Callable[[World], Course], pace: Callable[[], None]
) -> Final:
    """Run the request on a stage that is in its first state. Whatever happens, no actor of the run stays with a role.

    Raises Divergence when a tape cannot be followed, Interrupted, EnvironmentFailure.
    """
    world = _world(request, stage, ledger, pace)
    try:
        course = course_of(world)
        phases.safety(world, course)
        phases.liveness(world, course)
        phases.end(world)
        return _finish(world)
    finally:
        _clean_up(world)


def _world(request: Request, stage: Stage, ledger: Ledger, pace: Callable[[], None]) -> World:
    design, workload = request.design, request.workload
    draws = Draws(request.seed)
    recorder = Recorder(ledger, draws, setup.VIRTUAL_START_US)
    lanes = actors.lanes_of(workload)
    armed = plan.arm(workload, [lane.actor for lane in lanes if lane.program == "worker"], draws)

    def role(lane: Lane) -> Role:
        return Role(lane.actor, lane.incarnation, lane.program, request.seed, lane.alias)

    def crash_server() -> None:
        stage.crash()
        world.observer, world.truth = stage.observer, stage.truth

    recorder.event("run", actor=OBSERVER, value="start")
    recorder.event("phase", actor=OBSERVER, value="setup")
    world = World(
        design,
        workload,
        draws,
        recorder,
        stage.observer,
        stage.truth,
        Committed(),
        _decider(request, armed),
        lanes,
        stage.cast,
        role,
        stage.dismiss,
        crash_server,
        lambda who: libpq.connect(stage.database.conninfo(who)),
        pace,
        stage.database.can_signal_backends,
        cohort=frozenset(stage.seeded),
        armed=armed,
        barriers=stage.barriers,
        coalesces=request.coalesce,
    )
    setup.record_seed(world, stage.fixture)
    crashing.keep_log_back(world)
    recorder.flush()
    return world


def _decider(request: Request, armed: list[ArmedFault]) -> Decider:
    if request.decider is not None:
        return request.decider
    if request.decisions is not None:
        return TapeDecider(request.decisions)
    make = next(entry.make for entry in STRATEGIES if entry.name == request.strategy)
    return SeededDecider(make(request.seed, request.options), lambda view: plan.due(armed, view))


def _finish(world: World) -> Final:
    """Read the final committed state and close the history."""
    recorder = world.recorder
    jobs = tuple((recorder.job(row.job) or 0, row) for row in world.observer.all_jobs())
    reply = world.observer.audit()
    audit = None if reply is None else tuple(_audit_row(recorder, reply, row) for row in reply.rows)
    recorder.event("run", actor=OBSERVER, value="end")
    recorder.flush()
    return Final(jobs, audit, world.is_deterministic)


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


def _clean_up(world: World) -> None:
    with signals_held():
        with suppress(ServerError):  # it may be gone
            crashing.let_log_go(world)
        _end_all(world)
        bystander.leave(world)
        world.recorder.flush()


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
    backends = [on.backend_pid for lane in left for on in lane.connections]
    with suppress(ServerError):  # the server itself may be gone; the first failure is the one to tell
        for pid in backends:  # one whose statement waits for a lock cannot notice that its client has gone
            world.observer.terminate(pid)
        while any(world.observer.is_alive(pid) for pid in backends) and monotonic() < deadline:
            continue
