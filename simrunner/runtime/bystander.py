"""A session of the coordinator that holds a lock or a snapshot for a while, as a person's or a migration's session may."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from psycopg.pq.abc import PGconn

from simrunner.runtime import libpq
from simrunner.runtime.truth import HOLD
from simrunner.runtime.world import World


@contextmanager
def locking(world: World, job: str) -> Iterator[None]:
    """Lock a job's rows for the time of the block. A row that somebody else has locked is held up by that."""
    connection = world.connect("bystander")
    try:
        _run(connection, "BEGIN")
        for state in world.design.state_tables:
            table, column = libpq.quote(state.table), libpq.quote(state.job_column)
            sql = f"SELECT FROM {table} WHERE {column} = {libpq.literal(job)} FOR UPDATE SKIP LOCKED"
            _run(connection, sql)
        yield
        _run(connection, "ROLLBACK")
    finally:
        connection.finish()


@contextmanager
def holding(world: World) -> Iterator[int]:
    """Keep whoever is to stand still in its statement from going on, for the time of the block. Yields the holding backend."""
    connection = world.connect("bystander")
    try:
        _run(connection, f"SELECT pg_advisory_lock({HOLD})")
        yield connection.backend_pid
        _run(connection, f"SELECT pg_advisory_unlock({HOLD})")
    finally:
        connection.finish()


def hold_snapshot(world: World) -> PGconn:
    """Take a snapshot that lasts as long as the transaction of the session that is returned."""
    connection = world.connect("bystander")
    _run(connection, "BEGIN ISOLATION LEVEL REPEATABLE READ")
    _run(connection, "SELECT")  # the first statement takes it
    return connection


def let_go(connection: PGconn) -> None:
    """End the transaction of a session, if it is still there, and the session."""
    libpq.run(connection, "ROLLBACK")
    connection.finish()


def leave(world: World) -> None:
    """Give up what sessions of somebody else hold for longer: the run is over, or the server is gone and so are they."""
    left = [one.session for one in world.lasting if one.session is not None]
    world.lasting = [one for one in world.lasting if one.session is None]
    for session in left:
        let_go(session)


def _run(connection: PGconn, sql: str) -> None:
    libpq.expect(libpq.run(connection, sql), "holding something for a fault")
