"""A PostgreSQL server that belongs to somebody else, named by --dsn.

simrunner works there only in databases that it creates itself, or in one that is empty and was named on purpose. It ends only
its own sessions, and what it made is dropped at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from simrunner.errors import DatabaseRefused, InputError, ServerError
from simrunner.limits import LIMITS
from simrunner.runtime import environment
from simrunner.runtime.admin import execute, failures, texts
from simrunner.runtime.clock import SCHEMA as CLOCK_SCHEMA
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.homes import KEEPER, LOCK_KEY, drop_schemas, end_sessions, sweep

OLDEST_MAJOR = 15
_MAINTENANCE = "postgres"
_NOT_NAMED = (None, "", _MAINTENANCE, "template0", "template1")
_SHOWN = ("user", "host", "hostaddr", "port", "dbname", "service")
"""Connection parameters that tell where a server is; the others may be secrets or lead to them."""

_CONTENTS = """
WITH ours AS (
    SELECT oid FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
)
SELECT 'schema ' || nspname FROM pg_namespace WHERE oid IN (SELECT oid FROM ours) AND nspname <> 'public'
UNION ALL SELECT 'table or view ' || oid::regclass FROM pg_class WHERE relnamespace IN (SELECT oid FROM ours)
UNION ALL SELECT 'function ' || oid::regprocedure FROM pg_proc WHERE pronamespace IN (SELECT oid FROM ours)
UNION ALL SELECT 'type ' || oid::regtype FROM pg_type WHERE typnamespace IN (SELECT oid FROM ours)
UNION ALL SELECT 'operator ' || oid::regoperator FROM pg_operator WHERE oprnamespace IN (SELECT oid FROM ours)
UNION ALL SELECT 'extension ' || extname FROM pg_extension WHERE extname <> 'plpgsql'
UNION ALL SELECT 'event trigger ' || evtname FROM pg_event_trigger
UNION ALL SELECT 'foreign data wrapper ' || fdwname FROM pg_foreign_data_wrapper
UNION ALL SELECT 'publication ' || pubname FROM pg_publication
UNION ALL SELECT 'large object ' || oid FROM pg_largeobject_metadata
LIMIT 3
"""


@contextmanager
def connect(dsn: str) -> Iterator[Cluster]:
    """Use a server for the time of the block.

    Raises InputError if the DSN cannot be read, ServerError if the server cannot be reached or is too old, DatabaseRefused if
    the named database is not empty or simrunner may not create one.
    """
    parameters = _parse(dsn)
    named = parameters.pop("dbname", None)
    named = None if named in _NOT_NAMED else named
    bare = Cluster(0, "", False, False, parameters, embedded=False, named=named)
    with environment.hidden(environment.SESSION_VARIABLES), _reached(bare, safe_dsn(dsn)) as guard:
        with failures(f"preparing {safe_dsn(dsn)}"):
            cluster = _described(bare, guard)
            if named is None:
                _refuse_without_createdb(guard)
                sweep(guard)
            else:
                _take(guard, named)
        yield cluster


def safe_dsn(dsn: str) -> str:
    """Return what of a DSN may be shown: where the server is and who connects, nothing secret."""
    return make_conninfo("", **{name: value for name, value in _parse(dsn).items() if name in _SHOWN}) or "the default server"


def _parse(dsn: str) -> dict[str, str]:
    try:
        return {name: str(value) for name, value in conninfo_to_dict(dsn).items() if value is not None}
    except psycopg.Error:  # its text repeats parts of the DSN, which may be the password
        raise InputError("is not a connection string such as postgresql://user@host:5432/database", place="--dsn") from None


@contextmanager
def _reached(cluster: Cluster, where: str) -> Iterator[psycopg.Connection]:
    dbname = cluster.named or cluster.maintenance
    timeout = cluster.parameters.get("connect_timeout", str(LIMITS.connect_seconds))
    try:
        conninfo = make_conninfo(cluster.conninfo(dbname, KEEPER, "-c idle_session_timeout=0"), connect_timeout=timeout)
        guard = psycopg.connect(conninfo, autocommit=True)
    except psycopg.Error as error:
        reason = _without_secret(str(error).strip(), cluster.parameters.get("password"))
        raise ServerError(f"{where} cannot be used: {reason}; check --dsn and that the server runs") from None
    with guard:
        yield guard


def _without_secret(text: str, secret: str | None) -> str:
    return text.replace(secret, "***") if secret else text


def _described(cluster: Cluster, guard: psycopg.Connection) -> Cluster:
    major = guard.info.server_version // 10_000
    if major < OLDEST_MAJOR:
        raise ServerError(f"the server is PostgreSQL {major}; simrunner needs {OLDEST_MAJOR} or later")
    superuser = texts(guard, "SHOW is_superuser") == ["on"]
    return replace(cluster, major=major, version_text=texts(guard, "SELECT version()")[0], superuser=superuser)


def _refuse_without_createdb(guard: psycopg.Connection) -> None:
    role, may_create = execute(guard, "SELECT rolname, rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user")[0]
    if not may_create:
        raise DatabaseRefused(
            f"role {role} may not create databases; give it CREATEDB, or name an empty database in --dsn that simrunner may use"
        )


def _take(guard: psycopg.Connection, named: str) -> None:
    """Take the named database for this command. Touches nothing in it unless a killed command of ours made all of it."""
    if texts(guard, f"SELECT pg_try_advisory_lock({LOCK_KEY})") != ["True"]:
        raise DatabaseRefused(f"database {named} is in use by another simrunner command; wait for it, or name another database")
    if texts(guard, f"SELECT obj_description(to_regnamespace('{CLOCK_SCHEMA}'), 'pg_namespace') LIKE 'made by simrunner%'") == [
        "True"
    ]:
        end_sessions(guard, named)
        drop_schemas(guard)
    if found := texts(guard, _CONTENTS):
        raise DatabaseRefused(
            f"database {named} is not empty ({', '.join(found)}, ...) and was left as it is; name an empty database in --dsn, "
            f"or none, and simrunner creates its own"
        )
    if texts(guard, "SELECT has_database_privilege(current_database(), 'CREATE')") != ["True"]:
        raise DatabaseRefused(f"the role of --dsn may not create schemas in database {named}; grant it CREATE on the database")
