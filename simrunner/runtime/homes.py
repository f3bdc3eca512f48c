"""How the database of a run comes and goes, by where it lives."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

import psycopg
from psycopg import sql

from simrunner.errors import ServerError
from simrunner.limits import LIMITS
from simrunner.runtime import clock
from simrunner.runtime.admin import administering, execute, failures, texts
from simrunner.runtime.cluster import APPLICATION, Cluster
from simrunner.runtime.shared_objects import DATABASE_PREFIX, forget_roles
from simrunner.runtime.template import template_name

KEEPER = "keeper"
"""Stays connected to a database on somebody else's server while its run lives, and so tells it from a left one."""
LOCK_KEY = int.from_bytes(b"simrun", "big")
"""Advisory lock: on a maintenance database while databases come and go, on a named database while it is in use."""


class Home(Protocol):
    """Makes and removes one database."""

    @property
    def name(self) -> str:
        """The database's name."""

    def make(self) -> None:
        """Create it with the clock and an empty schema `design`. Raises ServerError."""

    def remove(self) -> None:
        """Drop it, whoever is connected. Raises ServerError."""


class EmbeddedHome:
    """A database of the embedded cluster, copied from the template.

    file_copy is quicker here than wal_log (22 ms to 35-130 ms): the copy needs checkpoints, which are cheap without fsync.
    """

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.name = name
        self._cluster = cluster

    def make(self) -> None:
        """Copy the template."""
        with administering(self._cluster, self._cluster.maintenance, f"creating the database {self.name}") as connection:
            execute(connection, "CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy", self.name, template_name(self._cluster))

    def remove(self) -> None:
        """Drop it, and the roles that its design created."""
        with administering(self._cluster, self._cluster.maintenance, f"dropping the database {self.name}") as connection:
            continue_backends(connection, self.name)
            execute(connection, "DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name)
            forget_roles(connection)


class CreatedHome:
    """A database that simrunner creates on somebody else's server."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.name = name
        self._cluster = cluster
        self._keeper: psycopg.Connection | None = None

    def make(self) -> None:
        """Create it in the C locale, whatever the server's is, and stay connected."""
        cluster = self._cluster
        with (
            administering(cluster, cluster.maintenance, f"creating the database {self.name}") as connection,
            coming_and_going(connection),
        ):
            execute(
                connection,
                "CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER libc LC_COLLATE 'C' LC_CTYPE 'C'",
                self.name,
            )
            self._keeper = psycopg.connect(cluster.conninfo(self.name, KEEPER), autocommit=True)
        with administering(cluster, self.name, f"preparing the database {self.name}") as inside:
            execute(inside, clock.install_sql(cluster.major, in_catalog=cluster.superuser) + "\nCREATE SCHEMA design;")

    def remove(self) -> None:
        """Drop it."""
        with failures("closing a session"):
            if self._keeper is not None:
                self._keeper.close()
        with (
            administering(self._cluster, self._cluster.maintenance, f"dropping the database {self.name}") as connection,
            coming_and_going(connection),
        ):
            drop_database(connection, self.name)


class NamedHome:
    """The empty database that the user named on purpose: its schemas come and go, the database stays."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.name = name
        self._cluster = cluster

    def make(self) -> None:
        """Create the schemas of the clock and of designs."""
        with administering(self._cluster, self.name, f"preparing the database {self.name}") as connection:
            execute(connection, clock.install_sql(self._cluster.major, in_catalog=False) + "\nCREATE SCHEMA design;")

    def remove(self) -> None:
        """Drop every schema of ours: the database was empty when the run began."""
        with administering(self._cluster, self.name, f"emptying the database {self.name}") as connection:
            drop_schemas(connection)


def home_of(cluster: Cluster, name: str) -> Home:
    """Choose how a database of a cluster is made; `name` is that of a database to be created."""
    if cluster.named is not None:
        return NamedHome(cluster, cluster.named)
    return EmbeddedHome(cluster, name) if cluster.embedded else CreatedHome(cluster, name)


def drop_schemas(connection: psycopg.Connection) -> None:
    """Drop the schemas that our role made in this database. Only for a database known to have been empty."""
    query = """
        SELECT nspname FROM pg_namespace
        WHERE oid >= 16384 AND nspowner = to_regrole(quote_ident(current_user)) AND nspname !~ '^pg_' AND nspname <> 'public'
    """
    for name in texts(connection, query):
        execute(connection, "DROP SCHEMA {} CASCADE", name)


@contextmanager
def coming_and_going(connection: psycopg.Connection) -> Iterator[None]:
    """Hold the lock under which databases of runs are made, dropped and swept on somebody else's server."""
    execute(connection, f"SELECT pg_advisory_lock({LOCK_KEY})")
    try:
        yield
    finally:
        with suppress(psycopg.Error):  # the session is lost, and its lock with it
            execute(connection, f"SELECT pg_advisory_unlock({LOCK_KEY})")


def sweep(connection: psycopg.Connection) -> None:
    """Drop the databases that killed runs of our role left on somebody else's server: those without a keeper."""
    query = f"""
        SELECT datname FROM pg_database d
        WHERE starts_with(datname, '{DATABASE_PREFIX}') AND datdba = to_regrole(quote_ident(current_user))
          AND NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.datid = d.oid AND application_name = '{APPLICATION}{KEEPER}')
    """
    with coming_and_going(connection):
        for name in texts(connection, query):
            drop_database(connection, name)


def drop_database(connection: psycopg.Connection, name: str) -> None:
    """Drop a database with the sessions in it: as superuser all of them, else our own and autovacuum's.

    FORCE is refused to others while an autovacuum worker is in the database; a plain DROP DATABASE ends those by itself.
    """
    superuser = connection.info.parameter_status("is_superuser") == "on"
    if not superuser:
        end_sessions(connection, name)
    execute(connection, f"DROP DATABASE IF EXISTS {{}}{' WITH (FORCE)' if superuser else ''}", name)


def end_sessions(connection: psycopg.Connection, name: str) -> None:
    """End the other sessions that simrunner has in a database as our role, keepers excepted. Raises ServerError."""
    # In the select list: among the conditions the call might come first, and would end any session of the server.
    ended = texts(
        connection,
        f"""
        SELECT pg_terminate_backend(pid, {int(LIMITS.backend_gone_seconds * 1000)}) FROM pg_stat_activity
        WHERE datname = {sql.Literal(name).as_string(connection)} AND usesysid = to_regrole(quote_ident(current_user))
          AND starts_with(application_name, '{APPLICATION}') AND application_name <> '{APPLICATION}{KEEPER}'
          AND pid <> pg_backend_pid()
        """,
    )
    if "False" in ended:
        raise ServerError(f"{ended.count('False')} sessions of simrunner did not end within {LIMITS.backend_gone_seconds:g} s")


def continue_backends(connection: psycopg.Connection, name: str) -> None:
    """Continue the backends of a database that were held by SIGSTOP: they could not be ended. Embedded clusters only."""
    for pid in texts(connection, f"SELECT pid FROM pg_stat_activity WHERE datname = '{name}'"):
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGCONT)
