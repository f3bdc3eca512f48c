"""A design tried on a server: everything that the server has against it, not only the first."""

from __future__ import annotations

from collections.abc import Iterator

from psycopg.pq.abc import PGconn

from simrunner.config import place_of
from simrunner.errors import DesignError, ServerError
from simrunner.model.design import Design
from simrunner.model.remark import Level, Remark
from simrunner.model.workload import Workload
from simrunner.runtime import clock, libpq, setup, truth
from simrunner.runtime.database import Database
from simrunner.runtime.observer import Observer

_MEND = "mend it as the message says; runs refuse it too, before any actor is started"


def try_design(database: Database, design: Design, workload: Workload) -> list[Remark]:
    """Install a design in an empty database, fill the workload's fixture and observe it.

    Returns errors only: what keeps a run from beginning. Raises ServerError where the server itself fails.
    """
    connection = libpq.connect(database.conninfo("doctor"))
    try:
        return _trial(connection, design, workload)
    finally:
        connection.finish()


def _trial(connection: PGconn, design: Design, workload: Workload) -> list[Remark]:
    try:
        setup.make_schema(connection, design)
    except DesignError as error:
        return [_refused("statement-refused", error)]
    found = [_refused(objection.name, objection.error) for objection in setup.objections(connection, design)]
    found += _tables(connection, design)
    if not found:
        try:
            setup.fill(connection, design, workload)
            truth.install(connection, design)
            observer = Observer(connection, design)
            observer.prepare()
            observer.all_jobs()
            observer.candidates(clock.literal(setup.VIRTUAL_START_US), workload.batch, 0)
        except DesignError as error:
            found.append(_refused("fixture-refused", error))
        except ServerError as error:  # every statement was accepted, so it is how they fit together
            found.append(Remark(Level.ERROR, "not-observable", str(error), _MEND, design.folder))
    return found


def _tables(connection: PGconn, design: Design) -> Iterator[Remark]:
    """The tables and columns that design.toml names must be there."""
    named = [(entry.table, entry.job_column) for entry in design.state_tables]
    if design.effects is not None:
        extra = [] if design.effects.attempt_column is None else [design.effects.attempt_column]
        named += [(design.effects.table, column) for column in (design.effects.job_column, design.effects.key_column, *extra)]
    for table, column in dict.fromkeys(named):
        reply = libpq.run(connection, f"SELECT {libpq.quote(column)} FROM {libpq.quote(table)} LIMIT 0")
        if reply.sqlstate is not None:
            schema = design.operations["schema"]
            yield Remark(
                Level.ERROR,
                "column-missing",
                f"design.toml names {table}.{column}: {reply.message}",
                "name what schema.sql creates",
                place_of(design, schema, schema.statements[0]),
            )


def _refused(name: str, error: DesignError) -> Remark:
    return Remark(Level.ERROR, name, error.message, _MEND, error.place)
