"""One statement that goes wrong, from its client's side. The server does it for real: nothing here makes an answer up.

lose-commit       the connection ends before the statement is sent
lose-ack          the connection ends once it was sent; its answer is never read
error-at          in its place the server is told to raise an error
lock-timeout      it gives up at once where it has to wait for a lock
statement-timeout in its place goes one that takes too long
hold              it stands still in the server once it has changed a row, see `runtime.truth`
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping

from psycopg import pq
from psycopg.pq.abc import PGconn

from simrunner.model.design import Statement
from simrunner.model.tape import ERROR_AT, LOCK_TIMEOUT, LOSE_ACK, LOSE_COMMIT, STATEMENT_TIMEOUT
from simrunner.runtime import libpq
from simrunner.runtime.libpq import Reply
from simrunner.runtime.messages import Trouble

HOLD = "hold"
CANCELED = "57014"
"""SQLSTATE of a statement that was over its time."""
_SETTINGS = {LOCK_TIMEOUT: "lock_timeout = '1ms'", HOLD: "simrunner.hold = 'on'"}


def run(connection: PGconn, trouble: Trouble, statement: Statement, values: Mapping[str, str | int | None]) -> Reply:
    """Send a statement with something going wrong, and return the reply; without an answer the connection has ended."""
    if connection.status != pq.ConnStatus.OK:
        return libpq.run(connection, statement.sent)  # it has ended before: nothing more can go wrong with it
    if trouble.kind == ERROR_AT:
        return libpq.run(connection, _raise(trouble.sqlstate or ""))
    texts, oids = libpq.bind(statement.parameters, values)
    if trouble.kind in (LOSE_COMMIT, LOSE_ACK):
        if trouble.kind == LOSE_ACK:
            connection.send_query_params(statement.sent.encode(), texts, oids)
            connection.flush()
        return _cut(connection)
    if trouble.kind == STATEMENT_TIMEOUT:
        return _under(connection, "statement_timeout = '1ms'", lambda: libpq.run(connection, "SELECT pg_sleep(3600)"))
    return _under(connection, _SETTINGS[trouble.kind], lambda: libpq.run_with(connection, statement.sent, texts, oids))


def patiently(connection: PGconn, sql: str) -> Reply:
    """Send a statement that ends a time limit: should the limit, by bad luck, strike it too, send it again."""
    reply = libpq.run(connection, sql)
    while reply.sqlstate == CANCELED:
        reply = libpq.run(connection, sql)
    return reply


def _under(connection: PGconn, setting: str, send: Callable[[], Reply]) -> Reply:
    """Send a statement under a setting. In a transaction that it aborts, the rollback undoes the setting."""
    prepared = libpq.run(connection, f"SET {setting}")
    if prepared.ended:
        return prepared
    libpq.expect(prepared, "preparing a fault")
    reply = send()
    if connection.transaction_status in (pq.TransactionStatus.IDLE, pq.TransactionStatus.INTRANS):
        libpq.expect(patiently(connection, f"RESET {setting.partition(' ')[0]}"), "ending a fault")
    return reply


def _raise(sqlstate: str) -> str:
    return f"DO $$ BEGIN RAISE EXCEPTION 'an error that a fault asked for' USING ERRCODE = {libpq.literal(sqlstate)}; END $$"


def _cut(connection: PGconn) -> Reply:
    """End the connection without a word. What was sent before reaches the server, which then reads the end of the stream."""
    with socket.socket(fileno=os.dup(connection.socket)) as end:
        end.shutdown(socket.SHUT_RDWR)
    connection.finish()
    return Reply(libpq.LOST, "the connection was lost", (), (), [], 0, "", ended=True)
