"""Administrative connections: simrunner's own, never an actor's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql

from simrunner.errors import ServerError
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.secrets import told


@contextmanager
def administering(cluster: Cluster, dbname: str, doing: str) -> Iterator[psycopg.Connection]:
    """Open an autocommit connection for a while. Raises ServerError, which says what simrunner was `doing`."""
    with failures(doing), psycopg.connect(cluster.conninfo(dbname), autocommit=True) as connection:
        yield connection


@contextmanager
def failures(doing: str) -> Iterator[None]:
    """Turn the driver's errors into ServerError, without a password in it."""
    try:
        yield
    except psycopg.Error as error:
        raise ServerError(told(f"while {doing}: {str(error).strip()}", error)) from error


def execute(connection: psycopg.Connection, statement: str, *names: str) -> list[tuple[object, ...]]:
    """Run statements whose `{}` stand for identifiers, and return the rows of the first, if it has any."""
    cursor = connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)) if names else statement.encode())
    return cursor.fetchall() if cursor.description else []


def texts(connection: psycopg.Connection, query: str) -> list[str]:
    """Return the first column of a query as texts."""
    return [str(row[0]) for row in execute(connection, query)]
