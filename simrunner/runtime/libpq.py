"""Thin helpers over libpq (`psycopg.pq`): half the cost per statement of a cursor, and nothing between the text and the server.

Everything is sent and received as text, so that a statement means what it means in psql.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import psycopg
from psycopg import pq
from psycopg.pq.abc import PGconn, PGresult

from simrunner.errors import ServerError
from simrunner.model.operations import PARAMETERS, ParameterType
from simrunner.runtime import secrets

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
INFINITY_US = 2**62
"""How `infinity` is kept as microseconds; `-infinity` is its negative."""

LOST = "08006"
"""libpq reports a broken connection without an SQLSTATE: this is the standard's connection failure."""
UNKNOWN_OID, INT4_OID, INT8_OID = 0, 23, 20
INTEGER_OIDS = (20, 21, 23)
TIMESTAMPTZ_OID = 1184
TEXT_OIDS = (18, 19, 25, 1042, 1043, 2950)
"""char, name, text, bpchar, varchar, uuid."""


class Reply(NamedTuple):
    """What the server said to one statement."""

    sqlstate: str | None
    """None: it succeeded."""
    message: str
    columns: tuple[str, ...]
    oids: tuple[int, ...]
    rows: list[tuple[str | None, ...]]
    affected: int
    """Rows returned, or changed where the statement returns none."""
    tag: str
    """Command tag, e.g. `UPDATE 1`."""
    position: int | None = None
    """Character offset of an error in the statement, from 1."""
    ended: bool = False
    """The session has ended, whether or not libpq knows it yet."""


def connect(conninfo: str) -> PGconn:
    """Open a connection. Raises ServerError with libpq's reason, without a password in it."""
    connection = pq.PGconn.connect(conninfo.encode())
    if connection.status != pq.ConnStatus.OK:
        reason = secrets.without(connection.get_error_message().strip(), secrets.secrets_in(connection))
        connection.finish()
        raise ServerError(f"PostgreSQL cannot be reached: {reason}")
    connection.notice_handler = None
    return connection


def run(connection: PGconn, sql: str) -> Reply:
    """Send one simple-protocol message and return the reply to its last statement."""
    return _reply(connection, lambda: connection.exec_(sql.encode()))


def run_with(connection: PGconn, sql: str, values: Sequence[bytes | None], oids: Sequence[int] | None = None) -> Reply:
    """Send one statement with `$n` values given as text."""
    return _reply(connection, lambda: connection.exec_params(sql.encode(), values, oids))


def prepare(connection: PGconn, name: str, sql: str, oids: Sequence[int] | None = None) -> Reply:
    """Prepare a statement under a name."""
    return _reply(connection, lambda: connection.prepare(name.encode(), sql.encode(), oids))


def run_prepared(connection: PGconn, name: str, values: Sequence[bytes]) -> Reply:
    """Run a prepared statement with values given as text."""
    return _reply(connection, lambda: connection.exec_prepared(name.encode(), values))


def columns_of(connection: PGconn, name: str = "") -> tuple[str, ...]:
    """Column names that a prepared statement returns."""
    result = connection.describe_prepared(name.encode())
    return tuple((result.fname(column) or b"").decode() for column in range(result.nfields))


def expect(reply: Reply, doing: str) -> Reply:
    """Return the reply, or raise ServerError that says what simrunner was doing."""
    if reply.sqlstate is not None:
        raise ServerError(f"while {doing}: {reply.message} (SQLSTATE {reply.sqlstate})")
    return reply


def bind(parameters: Sequence[str], values: Mapping[str, str | int | None]) -> tuple[list[bytes | None], list[int]]:
    """Turn named values into the texts and type OIDs of `$1`, `$2`, ...

    A text parameter has an unknown type, like a quoted literal; a number has int4, or int8 when it is large, like a bare one.
    """
    texts: list[bytes | None] = []
    oids: list[int] = []
    for name in parameters:
        value = values[name]
        texts.append(None if value is None else str(value).encode())
        oids.append(_number_oid(value) if PARAMETERS[name] is ParameterType.NUMBER else UNKNOWN_OID)
    return texts, oids


def _number_oid(value: str | int | None) -> int:
    return INT4_OID if value is None or -(2**31) <= int(value) < 2**31 else INT8_OID


def microseconds(text: str | None) -> int | None:
    """Microseconds since 1970-01-01 UTC of a timestamptz as the server prints it (ISO, UTC)."""
    if text is None:
        return None
    if text.endswith("infinity"):
        return -INFINITY_US if text.startswith("-") else INFINITY_US
    return (datetime.fromisoformat(text) - EPOCH) // _MICROSECOND


def array(values: Sequence[str]) -> bytes:
    """Write a one-dimensional array as PostgreSQL's array literal."""
    quoted = (value.replace("\\", "\\\\").replace('"', '\\"') for value in values)
    return ("{" + ",".join(f'"{value}"' for value in quoted) + "}").encode()


def literal(text: str) -> str:
    """Quote a text as a string literal."""
    return "'" + text.replace("'", "''") + "'"


def quote(identifier: str) -> str:
    """Quote an identifier, dotted names part by part."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in identifier.split("."))


def _reply(connection: PGconn, send: Callable[[], PGresult]) -> Reply:
    try:
        result = send()
    except psycopg.OperationalError as error:  # the connection was lost before: libpq makes no result
        return Reply(LOST, str(error), (), (), [], 0, "", ended=True)
    status = result.status
    if status in (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK, pq.ExecStatus.EMPTY_QUERY):
        return _success(result)
    return _failure(connection, result)


def _success(result: PGresult) -> Reply:
    width = result.nfields
    columns, get = range(width), result.get_value
    rows = [tuple([_text(get(row, column)) for column in columns]) for row in range(result.ntuples)]
    return Reply(
        None,
        "",
        tuple([(result.fname(column) or b"").decode() for column in columns]),
        tuple([result.ftype(column) for column in columns]),
        rows,
        len(rows) if width else (result.command_tuples or 0),
        (result.command_status or b"").decode(),
    )


def _failure(connection: PGconn, result: PGresult) -> Reply:
    field = pq.DiagnosticField
    state = result.error_field(field.SQLSTATE)
    primary = result.error_field(field.MESSAGE_PRIMARY) or connection.error_message
    position = result.error_field(field.STATEMENT_POSITION)
    return Reply(
        state.decode() if state else LOST,
        primary.decode(errors="replace").strip(),
        (),
        (),
        [],
        0,
        "",
        int(position) if position else None,
        state is None or result.error_field(field.SEVERITY_NONLOCALIZED) in (b"FATAL", b"PANIC"),
    )


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()
