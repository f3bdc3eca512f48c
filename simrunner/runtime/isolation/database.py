"""A database for specs: PostgreSQL as it comes, without the virtual clock, in the settings that the regression tests use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic_ns

import psycopg
from psycopg.conninfo import make_conninfo

from simrunner.errors import ServerError
from simrunner.runtime.admin import administering, execute, failures
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.homes import KEEPER, coming_and_going, create_database, drop_database
from simrunner.runtime.settings import as_options
from simrunner.runtime.shared_objects import DATABASE_PREFIX, forget_roles

_REGRESSION = {
    "TimeZone": "America/Los_Angeles",
    "DateStyle": "Postgres, MDY",
    "IntervalStyle": "postgres_verbose",
    "bytea_output": "hex",
    "timezone_abbreviations": "Default",
}
"""What pg_isolation_regress sets, and so what PostgreSQL's expected output was made with."""
_SUPERUSER = {"lc_messages": "C"}
_EMBEDDED = {
    "deadlock_timeout": "1s",
    "plan_cache_mode": "auto",
    "synchronize_seqscans": "on",
    "max_parallel_workers": "8",
    "max_parallel_workers_per_gather": "2",
    "max_parallel_maintenance_workers": "2",
}
"""PostgreSQL's defaults, where the embedded server has others for the sake of reproducible runs."""


def session_conninfo(cluster: Cluster, database: str, application: str) -> str:
    """Return the connection string of a session of a spec."""
    settings = {**_REGRESSION, **(_SUPERUSER if cluster.superuser else {}), **(_EMBEDDED if cluster.embedded else {})}
    return make_conninfo(cluster.conninfo(database, options=as_options(settings)), application_name=application)


@contextmanager
def plain_database(cluster: Cluster) -> Iterator[str]:
    """Create a database for the time of the block, or use the empty one that the user named. Raises ServerError."""
    if cluster.named is not None:
        yield cluster.named
        return
    name = f"{DATABASE_PREFIX}spec_{os.getpid()}_{monotonic_ns():x}"
    try:
        with _created(cluster, name):
            yield name
    except BaseException:
        with suppress(ServerError):  # the first failure is the one to tell
            _drop(cluster, name)
        raise
    _drop(cluster, name)


@contextmanager
def _created(cluster: Cluster, name: str) -> Iterator[None]:
    """Create the database; on somebody else's server stay connected, so that no other command takes it for a left one."""
    with administering(cluster, cluster.maintenance, f"creating the database {name}") as connection:
        if cluster.embedded:
            execute(connection, "CREATE DATABASE {} TEMPLATE template0 STRATEGY file_copy", name)
            keeper = None
        else:
            with coming_and_going(connection):
                create_database(connection, name, "TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'")
                keeper = psycopg.connect(cluster.conninfo(name, KEEPER), autocommit=True)
    try:
        yield
    finally:
        if keeper is not None:
            with failures("closing a session"):
                keeper.close()


def _drop(cluster: Cluster, name: str) -> None:
    with administering(cluster, cluster.maintenance, f"dropping the database {name}") as connection:
        if cluster.embedded:
            execute(connection, "DROP DATABASE IF EXISTS {} WITH (FORCE)", name)
            forget_roles(connection)
        else:
            drop_database(connection, name)
