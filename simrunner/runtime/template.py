"""The embedded cluster's template database: an empty database with the virtual clock and the schema of designs.

Its name contains a hash of its SQL, so a change of the SQL makes another one. It is built under another name and renamed when it
is complete; nobody can connect to it, so that it can always be copied.
"""

from __future__ import annotations

from hashlib import sha256

import psycopg

from simrunner.runtime import clock
from simrunner.runtime.admin import administering, execute, texts
from simrunner.runtime.cluster import Cluster

_PREFIX = "simrunner_template_"
_BUILDING = _PREFIX + "new"


def template_name(cluster: Cluster) -> str:
    """Return the name of the template that the present SQL makes."""
    return _PREFIX + sha256(_sql(cluster).encode()).hexdigest()[:12]


def ensure_template(cluster: Cluster, connection: psycopg.Connection) -> None:
    """Make the template unless it is there, and drop others."""
    name = template_name(cluster)
    found = texts(connection, f"SELECT datname FROM pg_database WHERE starts_with(datname, '{_PREFIX}')")
    for other in found:
        if other != name:
            execute(connection, "DROP DATABASE {} WITH (FORCE)", other)
    if name in found:
        return
    execute(connection, "CREATE DATABASE {} TEMPLATE template0 STRATEGY file_copy", _BUILDING)
    with administering(cluster, _BUILDING, "making the template database") as building:
        execute(building, _sql(cluster))
    execute(connection, "ALTER DATABASE {} ALLOW_CONNECTIONS false", _BUILDING)
    execute(connection, "ALTER DATABASE {} RENAME TO {}", _BUILDING, name)


def _sql(cluster: Cluster) -> str:
    return clock.install_sql(cluster.major, in_catalog=True) + "\nCREATE SCHEMA design;"
