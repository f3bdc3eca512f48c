"""A PostgreSQL server that belongs to somebody else, named by --dsn.

simrunner works there only in databases that it creates itself, or in one that is empty and was named on purpose. It ends only
its own sessions, and what it made is dropped at the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from simrunner.errors import DatabaseRefused, InputError, ServerError
from simrunner.limits import LIMITS
from simrunner.runtime import environment
from simrunner.runtime.admin import execute, failures, texts
from simrunner.runtime.clock import SCHEMA as CLOCK_SCHEMA
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.homes import KEEPER, LOCK_KEY, drop_left_schemas, end_sessions, sweep
from simrunner.runtime.secrets import secrets_among, told, without
from simrunner.runtime.shortage import explained_elsewhere

OLDEST_MAJOR = 15
_MAINTENANCE = "postgres"
_NOT_NAMED = (None, "", _MAINTENANCE, "template0", "template1")
_SHOWN = ("user", "host", "hostaddr", "port", "dbname", "service")
"""Connection parameters that tell where a server is; the others may be secrets or lead to them."""

_AUTHORITY = re.compile(r"[^/?]*")

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
UNION ALL SELECT 'cast ' || pg_describe_object('pg_cast'::regclass, oid, 0) FROM pg_cast WHERE oid >= 16384
UNION ALL SELECT 'other object, ' || pg_describe_object(classid, objid, 0) FROM (
    SELECT DISTINCT classid, objid FROM pg_depend WHERE objid >= 16384
) dependent
LIMIT 3
"""


class Seen(NamedTuple):
    """A server behind --dsn as it was found."""

    cluster: Cluster
    guard: psycopg.Connection
    """A session in the named database, else in the maintenance database; it stays open for the time of the block."""
    where: str
    """What may be shown of the DSN."""


@contextmanager
def connect(dsn: str) -> Iterator[Cluster]:
    """Use a server for the time of the block.

    Raises InputError if the DSN cannot be read, ServerError if the server cannot be reached or is too old, DatabaseRefused if
    the named database is not empty or simrunner may not create one.
    """
    with look(dsn) as seen:
        with failures(f"preparing {seen.where}"):
            if seen.cluster.named is None:
                _refuse_without_createdb(seen.guard)
                sweep(seen.guard)
            else:
                _take(seen.guard, seen.cluster.named)
        with explained_elsewhere(seen.where):
            yield seen.cluster


@contextmanager
def look(dsn: str) -> Iterator[Seen]:
    """Connect to a server for the time of the block and change nothing there.

    Raises InputError if the DSN cannot be read, ServerError if the server cannot be reached or is too old.
    """
    parameters = _parse(dsn)
    where = safe_dsn(dsn)
    named = parameters.pop("dbname", None)
    named = None if named in _NOT_NAMED else named
    bare = Cluster(0, "", False, False, parameters, embedded=False, named=named)
    with environment.hidden(environment.SESSION_VARIABLES), _reached(bare, where) as guard:
        with failures(f"looking at {where}"):
            cluster = _described(bare, guard)
        yield Seen(cluster, guard, where)


def safe_dsn(dsn: str) -> str:
    """Return what of a DSN may be shown: where the server is and who connects, nothing secret."""
    parameters = _parse(dsn)
    shown = make_conninfo("", **{name: value for name, value in parameters.items() if name in _SHOWN})
    return without(shown, secrets_among(parameters)) or "the default server"


def _parse(dsn: str) -> dict[str, str]:
    """Return libpq's parameters. No message repeats a part of the DSN: it may be the password."""
    if not _is_utf8(dsn):
        raise InputError("is not UTF-8 text", place="--dsn")
    if _misread(dsn):
        raise InputError("holds an @, / or ? that must be percent-encoded, as in p%40ss for p@ss", place="--dsn")
    try:
        return {name: str(value) for name, value in conninfo_to_dict(dsn).items() if value is not None}
    except psycopg.Error:
        raise InputError("is not a connection string such as postgresql://user@host:5432/database", place="--dsn") from None


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _misread(dsn: str) -> bool:
    """Whether libpq takes a part of the password in a URL for the host or the database, and would show it in its messages.

    It ends the password at the first @, and knows none if a / or ? comes before that.
    """
    scheme, colon, rest = dsn.partition("://")
    if not colon or scheme not in ("postgresql", "postgres"):
        return False
    authority = _AUTHORITY.match(rest)
    size = authority.end() if authority else 0
    return rest[:size].count("@") > 1 or "@" in rest[size:]


@contextmanager
def _reached(cluster: Cluster, where: str) -> Iterator[psycopg.Connection]:
    dbname = cluster.named or cluster.maintenance
    timeout = cluster.parameters.get("connect_timeout", str(LIMITS.connect_seconds))
    try:
        conninfo = make_conninfo(cluster.conninfo(dbname, KEEPER, "-c idle_session_timeout=0"), connect_timeout=timeout)
        guard = psycopg.connect(conninfo, autocommit=True)
    except psycopg.Error as error:
        message = f"{where} cannot be used: {str(error).strip()}; check --dsn and that the server runs"
        raise ServerError(told(message, error, cluster.parameters)) from None
    with guard:
        yield guard


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
        drop_left_schemas(guard)
    if found := texts(guard, _CONTENTS):
        raise DatabaseRefused(
            f"database {named} is not empty ({', '.join(found)}, ...) and was left as it is; name an empty database in --dsn, "
            f"or none, and simrunner creates its own"
        )
    if texts(guard, "SELECT has_database_privilege(current_database(), 'CREATE')") != ["True"]:
        raise DatabaseRefused(f"the role of --dsn may not create schemas in database {named}; grant it CREATE on the database")
