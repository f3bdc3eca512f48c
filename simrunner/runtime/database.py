"""The database of a run: created with the virtual clock in it, restored to its first state on demand, dropped at the end."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from time import monotonic_ns

import psycopg

from simrunner.errors import ServerError
from simrunner.limits import LIMITS
from simrunner.runtime import libpq
from simrunner.runtime.admin import execute, failures
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.holding import signals_held
from simrunner.runtime.homes import Home, continue_backends, end_sessions, home_of
from simrunner.runtime.settings import SEARCH_PATH_CATALOG, SEARCH_PATH_SCHEMA, as_options, session_settings
from simrunner.runtime.shared_objects import DATABASE_PREFIX

SCHEMA = "design"
"""The schema in which designs are installed; it is there and empty, and first in the search_path."""
_SLUG_CHARACTERS = 24
"""A name has at most 63 bytes."""

_RESTART_FREE_SEQUENCES = """
DO $$
DECLARE
    free regclass;
BEGIN
    FOR free IN
        SELECT oid FROM pg_class
        WHERE relkind = 'S' AND oid >= 16384
          AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype IN ('a', 'i'))
    LOOP
        EXECUTE format('ALTER SEQUENCE %s RESTART', free);
    END LOOP;
END
$$;
"""
_FORGET_STATISTICS = "DELETE FROM pg_statistic WHERE starelid >= 16384; DELETE FROM pg_statistic_ext_data;"


@dataclass(frozen=True, slots=True)
class Database:
    """A database that belongs to one run alone."""

    cluster: Cluster
    home: Home = field(repr=False)
    search_path: str

    @property
    def name(self) -> str:
        """The database's name."""
        return self.home.name

    @property
    def superuser(self) -> bool:
        """Its sessions are superuser."""
        return self.cluster.superuser

    @property
    def can_signal_backends(self) -> bool:
        """Its backends may be stopped and continued."""
        return self.cluster.can_signal_backends

    def conninfo(self, who: str) -> str:
        """Return the connection string of a session with the settings of a run; application_name becomes `simrunner:<who>`."""
        settings = {**session_settings(self.cluster.major, superuser=self.cluster.superuser), "search_path": self.search_path}
        return self.cluster.conninfo(self.name, who, as_options(settings))

    def recreate(self) -> None:
        """Put it back to how it was created: needed after DDL, after ANALYZE without superuser, and after a crash of the server.

        Ends every session in it. Raises ServerError.
        """
        self.home.remove()
        self.home.make()

    def truncate(self, tables: Sequence[str]) -> None:
        """Bring tables back to their physical first state, see `truncate_sql`. Raises ServerError if a session locks one."""
        with self._session("emptying the tables of the last run") as connection:
            execute(connection, f"SET lock_timeout = '{int(LIMITS.backend_gone_seconds)}s'")
            execute(connection, self.truncate_sql(tables))

    def truncate_sql(self, tables: Sequence[str]) -> str:
        """Return the SQL that empties tables, restarts sequences and, as superuser, removes statistics, in one message.

        A DELETE would leave dead rows, and their places would decide the order of ties later. Statistics survive TRUNCATE.
        """
        names = ", ".join(libpq.quote(table) for table in tables)
        statistics = _FORGET_STATISTICS if self.cluster.superuser else ""
        return f"TRUNCATE {names} RESTART IDENTITY CASCADE; {_RESTART_FREE_SEQUENCES} {statistics}"

    def terminate_sessions(self) -> None:
        """End the sessions that simrunner's role has in this database, and wait until they are gone. Raises ServerError."""
        with self._session("ending the sessions of a run") as connection:
            if self.cluster.can_signal_backends:
                continue_backends(connection, self.name)
            end_sessions(connection, self.name)

    @contextmanager
    def _session(self, doing: str) -> Iterator[psycopg.Connection]:
        with failures(doing), psycopg.connect(self.conninfo("admin"), autocommit=True) as connection:
            yield connection


@contextmanager
def create(cluster: Cluster, run_id: str) -> Iterator[Database]:
    """Create the database of a run for the time of the block. Raises ServerError if that is not possible.

    On a server that is not ours it is in the C locale, and its clock is in pg_catalog only if simrunner is superuser there.
    """
    in_catalog = cluster.superuser and cluster.named is None
    home = home_of(cluster, database_name(run_id))
    database = Database(cluster, home, SEARCH_PATH_CATALOG if in_catalog else SEARCH_PATH_SCHEMA)
    try:
        home.make()
        yield database
    except BaseException:
        with suppress(ServerError), signals_held():  # the first failure is the one to tell
            home.remove()
        raise
    with signals_held():
        home.remove()


def database_name(run_id: str) -> str:
    """Return a name for a run's database that no other has."""
    slug = re.sub(r"[^a-z0-9]+", "_", run_id.lower())[:_SLUG_CHARACTERS].strip("_")
    return f"{DATABASE_PREFIX}{slug}_{os.getpid()}_{monotonic_ns():x}"
