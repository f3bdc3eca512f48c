"""From an empty database to the state in which a run begins: schema, fixture, truth log, first snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from psycopg.pq.abc import PGconn

from simrunner.config import place_of
from simrunner.errors import DesignError
from simrunner.model.design import Design, OperationSource, Statement
from simrunner.model.job import JobRow
from simrunner.model.operations import OPERATIONS, PARAMETERS, SCHEMAS, ParameterType
from simrunner.model.workload import Workload
from simrunner.runtime import clock, commits, libpq, shortage, truth
from simrunner.runtime.world import World

VIRTUAL_START_US = libpq.microseconds(datetime(2026, 9, 22, 6, 0, 1, tzinfo=UTC).isoformat()) or 0
"""The virtual clock starts one second after the seed becomes available: 2026-09-22 09:00:01+03."""

NEEDED = ("schema", "seed", "claim", "jobs", "eligible")
"""Operations without which nothing can be asked of a design."""


class Objection(NamedTuple):
    """What the server has against a statement."""

    name: str
    """`statement-refused` or `column-missing`."""
    error: DesignError


Values = Mapping[str, str | int | None]


def install(connection: PGconn, design: Design, workload: Workload) -> tuple[str, ...] | None:
    """Create the design's tables, check every statement on the server, fill the fixture and start the truth log.

    Returns what `fill` returns. Raises DesignError with file and line for SQL that the server refuses and for a
    mapped column that a statement does not return, before any actor is started.
    """
    make_schema(connection, design)
    for objection in objections(connection, design):
        raise objection.error
    seeded = fill(connection, design, workload)
    truth.install(connection, design)
    return seeded


def make_schema(connection: PGconn, design: Design) -> None:
    """Create the design's tables. Raises DesignError for SQL that the server refuses."""
    _require(design)
    set_clock(connection)
    for name in SCHEMAS:
        if design.offers(name):
            _run(connection, design, name, {})


def objections(connection: PGconn, design: Design) -> Iterator[Objection]:
    """Let the server parse every statement that actors and the observer will send, and look at its columns."""
    for operation, source in design.operations.items():
        if not OPERATIONS[operation].fixture:
            for number, statement in enumerate(source.statements, 1):
                found = _objection(connection, design, source, statement, is_last=number == len(source.statements))
                if found is not None:
                    yield found


def set_clock(connection: PGconn) -> None:
    """Let a session's time be that at which a run begins."""
    libpq.expect(libpq.run(connection, clock.set_transaction_time(VIRTUAL_START_US)), "setting the virtual clock")


def fill(connection: PGconn, design: Design, workload: Workload) -> tuple[str, ...] | None:
    """Fill the empty tables with the fixture, in a session of which the clock was set.

    Returns the ids of the seed's jobs where a backlog was put behind them; None: all jobs are the seed's.
    """
    _run(connection, design, "seed", {"jobs": workload.fixture.jobs, "max_attempts": workload.max_attempts})
    if not workload.fixture.backlog:
        return None
    seeded = _job_ids(connection, design)
    _fill_backlog(connection, design, workload, len(seeded) + 1)
    return seeded


def record_seed(world: World, jobs: Iterable[JobRow]) -> None:
    """Record every job of the fixture."""
    changes = world.committed.load(jobs)
    for change in changes:
        world.recorder.change("seed", **commits.job_columns(world, change), actor="observer")
    world.next_job = len(changes) + 1


def _require(design: Design) -> None:
    missing = [f"{name}.sql" for name in NEEDED if not design.offers(name)]
    if missing:
        raise DesignError(f"lacks {', '.join(missing)}, without which no run can be made", place=design.folder)


def _run(connection: PGconn, design: Design, operation: str, values: Values) -> None:
    source = design.operations[operation]
    for statement in source.statements:
        reply = libpq.run_with(connection, statement.sent, *libpq.bind(statement.parameters, values))
        if reply.ended or shortage.met_by(reply):
            libpq.expect(reply, f"running {source.path}")
        if reply.sqlstate is not None:
            raise _refused(design, source, statement, reply)


def _objection(
    connection: PGconn, design: Design, source: OperationSource, statement: Statement, *, is_last: bool
) -> Objection | None:
    oids = [libpq.INT4_OID if PARAMETERS[name] is ParameterType.NUMBER else libpq.UNKNOWN_OID for name in statement.parameters]
    reply = libpq.prepare(connection, "", statement.sent, oids)
    if reply.sqlstate is not None:
        return Objection("statement-refused", _refused(design, source, statement, reply))
    columns = libpq.columns_of(connection)
    missing = [column for column in source.results.values() if column not in columns] if is_last else []
    if not missing:
        return None
    error = DesignError(
        f"returns {', '.join(columns) or 'no columns'}, but design.toml maps a result to {', '.join(missing)};"
        f" return it or change [results.{source.operation}]",
        place=place_of(design, source, statement),
    )
    return Objection("column-missing", error)


def _refused(design: Design, source: OperationSource, statement: Statement, reply: libpq.Reply) -> DesignError:
    return DesignError(
        f"PostgreSQL refuses the statement: {reply.message} (SQLSTATE {reply.sqlstate})",
        place=place_of(design, source, statement, reply.position or 1),
    )


def _fill_backlog(connection: PGconn, design: Design, workload: Workload, first_job: int) -> None:
    fixture = workload.fixture
    if not design.offers("backlog"):
        raise DesignError("has no backlog.sql, which --set backlog needs", place=design.folder)
    values = {
        "first_job": first_job,
        "jobs": fixture.backlog,
        "priority": fixture.backlog_priority,
        "max_attempts": workload.max_attempts,
    }
    _run(connection, design, "backlog", values)


def _job_ids(connection: PGconn, design: Design) -> tuple[str, ...]:
    jobs = design.operations["jobs"].statements[0].sent
    rows = libpq.expect(libpq.run(connection, f"SELECT job FROM ({jobs}) j"), "reading the seed").rows
    return tuple(row[0] for row in rows if row[0] is not None)
