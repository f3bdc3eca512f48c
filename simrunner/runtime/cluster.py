"""A running PostgreSQL server that simrunner may use, embedded or behind --dsn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from psycopg.conninfo import make_conninfo

APPLICATION = "simrunner:"
"""Every session of simrunner has an application_name that begins so."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A server and how to connect to it. Its connection strings may hold a password: for connections, not for records."""

    major: int
    version_text: str
    """What `version()` says."""
    superuser: bool
    """Sessions are superuser: clock in pg_catalog, deadlock_timeout, removal of statistics."""
    can_signal_backends: bool
    """Backends are processes of this machine that we may stop and continue."""
    parameters: Mapping[str, str] = field(repr=False)
    """libpq's connection parameters, without a database."""
    embedded: bool
    maintenance: str = "postgres"
    """The database from which others are created."""
    named: str | None = None
    """The empty database that the user named on purpose: runs use it instead of one that simrunner creates."""
    postmaster_pid: int | None = None
    """Of the server as it was started first."""
    crash: Callable[[], None] | None = field(default=None, repr=False, compare=False)
    """Crash the server and start it again on the same data. None: it is not ours to crash."""

    def conninfo(self, dbname: str, who: str = "admin", options: str = "") -> str:
        """Return a connection string. `who` follows `simrunner:` in application_name; `options` are server settings."""
        own = {"dbname": dbname, "application_name": APPLICATION + who, "client_encoding": "UTF8"}
        given = self.parameters.get("options", "")
        return make_conninfo("", **{**self.parameters, **own, "options": f"{given} {options}".strip()})
