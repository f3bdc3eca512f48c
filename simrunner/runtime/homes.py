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
MARK = "made by simrunner, which drops it"
"""Comment of a database that simrunner created on somebody else's server."""
LOCK_KEY = int.from_bytes(b"simrun", "big")
"""Advisory lock: on a maintenance database while databases come and go, on a named database while it is in use."""

OF_OTHERS = f"""
    usename IS NOT NULL AND coalesce(backend_type, 'client backend') = 'client backend'
    AND NOT starts_with(coalesce(application_name, ''), '{APPLICATION}')
"""
"""Condition on pg_stat_activity: sessions of clients that are not simrunner's. Without superuser the type of another role's
session is not shown; a background process has no user."""


class Home(Protocol):
    """Makes and removes one database."""

    @property
    def name(self) -> str:
        """The database's name."""

    def make(self) -> None:
        """Create it with the clock and an empty schema `design`. Raises ServerError."""

    def remove(self) -> None:
        """Drop it and end the sessions that simrunner has in it. Raises ServerError."""


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
            create_database(
                connection, self.name, "TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER libc LC_COLLATE 'C' LC_CTYPE 'C'"
            )
            self._keeper = psycopg.connect(cluster.conninfo(self.name, KEEPER), autocommit=True)
        with administering(cluster, self.name, f"preparing the database {self.name}") as inside:
            execute(inside, clock.install_sql(cluster.major, in_catalog=cluster.superuser) + "\nCREATE SCHEMA design;")

    def remove(self) -> None:
        """Drop it."""
        self.let_go()
        with (
            administering(self._cluster, self._cluster.maintenance, f"dropping the database {self.name}") as connection,
            coming_and_going(connection),
        ):
            drop_database(connection, self.name)

    def let_go(self) -> None:
        """Close the keeper: from now on the database is a left one. Raises ServerError."""
        with failures("closing a session"):
            if self._keeper is not None:
                self._keeper.close()


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
    """Drop the schemas that our role made in this database. Only for a database that was empty when this command began."""
    query = """
        SELECT nspname FROM pg_namespace
        WHERE oid >= 16384 AND nspowner = to_regrole(quote_ident(current_user)) AND nspname !~ '^pg_' AND nspname <> 'public'
    """
    for name in texts(connection, query):
        execute(connection, "DROP SCHEMA {} CASCADE", name)


def drop_left_schemas(connection: psycopg.Connection) -> None:
    """Drop what a killed command left in a named database: the schemas of our names alone, others may be somebody's work."""
    query = f"""
        SELECT nspname FROM pg_namespace
        WHERE nspowner = to_regrole(quote_ident(current_user)) AND nspname IN ('design', 'simrunner', '{clock.SCHEMA}')
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


def create_database(connection: psycopg.Connection, name: str, options: str) -> None:
    """Create a database on somebody else's server and mark it as ours: only what bears the mark is ever swept."""
    execute(connection, f"CREATE DATABASE {{}} {options}", name)
    execute(connection, f"COMMENT ON DATABASE {{}} IS '{MARK}'", name)


def sweep(connection: psycopg.Connection) -> None:
    """Drop the databases that killed runs of our role left on somebody else's server. One that somebody looks into stays."""
    with coming_and_going(connection):
        for name, is_marked in left_databases(connection):
            if is_marked:
                with suppress(ServerError):
                    drop_database(connection, name)


def left_databases(connection: psycopg.Connection) -> list[tuple[str, bool]]:
    """Return the databases that our role owns, that are named as simrunner names them and have no keeper: the runs are dead.

    With each, whether it bears the mark. One that does not is somebody's own, or was left in the moment it was created.
    """
    query = f"""
        SELECT datname, coalesce(shobj_description(d.oid, 'pg_database') = '{MARK}', false) FROM pg_database d
        WHERE starts_with(datname, '{DATABASE_PREFIX}') AND datdba = to_regrole(quote_ident(current_user))
          AND NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.datid = d.oid AND application_name = '{APPLICATION}{KEEPER}')
        ORDER BY datname
    """
    return [(str(name), bool(is_marked)) for name, is_marked in execute(connection, query)]


def drop_database(connection: psycopg.Connection, name: str) -> None:
    """Drop a database that simrunner created on somebody else's server, with its own sessions in it.

    Not with FORCE, which would end the sessions of others too. Raises ServerError if there are such.
    """
    end_sessions(connection, name)
    if strangers := _sessions(connection, name):
        raise ServerError(
            f"the database {name} stays, because a session that is not simrunner's is in it ({', '.join(strangers)});"
            f" once that has ended, the next command with this --dsn drops it"
        )
    execute(connection, "DROP DATABASE IF EXISTS {}", name)


def _sessions(connection: psycopg.Connection, name: str) -> list[str]:
    """The sessions of others in a database, without those that are about to end: DROP DATABASE itself waits for them."""
    literal = sql.Literal(name).as_string(connection)
    query = f"""
        SELECT 'user ' || usename || ', process ' || pid FROM pg_stat_activity
        WHERE datname = {literal} AND {OF_OTHERS}
    """
    return texts(connection, query)


def end_sessions(connection: psycopg.Connection, name: str) -> None:
    """End the other sessions that simrunner has in a database as our role, keepers excepted. Raises ServerError."""
    # In the select list: among the conditions the call might come first, and would end any session of the server.
    rows = execute(
        connection,
        f"""
        SELECT pid, pg_terminate_backend(pid, {int(LIMITS.backend_gone_seconds * 1000)}) FROM pg_stat_activity
        WHERE datname = {sql.Literal(name).as_string(connection)} AND usesysid = to_regrole(quote_ident(current_user))
          AND starts_with(application_name, '{APPLICATION}') AND application_name <> '{APPLICATION}{KEEPER}'
          AND pid <> pg_backend_pid()
        """,
    )
    doubtful = [str(pid) for pid, has_ended in rows if not has_ended]  # or it left by itself meanwhile
    left = texts(connection, f"SELECT pid FROM pg_stat_activity WHERE pid IN ({', '.join(doubtful)})") if doubtful else []
    if left:
        raise ServerError(
            f"sessions of simrunner did not end within {LIMITS.backend_gone_seconds:g} s: server processes {', '.join(left)}."
            " The machine is overloaded or they are held by something else: end that and run again"
        )


def continue_backends(connection: psycopg.Connection, name: str) -> None:
    """Continue the backends of a database that were held by SIGSTOP: they could not be ended. Embedded clusters only."""
    literal = sql.Literal(name).as_string(connection)
    for pid in texts(connection, f"SELECT pid FROM pg_stat_activity WHERE datname = {literal}"):
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGCONT)
