"""One statement that goes wrong, from its client's side. The server does it for real: nothing here makes an answer up.

lose-commit       the connection ends before the statement is sent
lose-ack          the connection ends once it was answered; nobody hears the answer
error-at          in its place the server is told to raise an error
lock-timeout      it gives up at once where it has to wait for a lock
statement-timeout in its place goes one that takes too long
hold              it stands still in the server once it has changed a row, see `runtime.truth`
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from functools import partial

from psycopg import pq
from psycopg.pq.abc import PGconn

from simrunner.model.design import Statement
from simrunner.model.tape import ERROR_AT, LOCK_TIMEOUT, LOSE_ACK, LOSE_COMMIT, STATEMENT_TIMEOUT
from simrunner.runtime import libpq
from simrunner.runtime.libpq import Reply
from simrunner.runtime.messages import Trouble

ASKED_FOR = "an error that a fault asked for"
"""What the server says in place of a statement."""
HOLD = "hold"
_SETTINGS = {LOCK_TIMEOUT: "lock_timeout = '1ms'", HOLD: "simrunner.hold = 'on'"}
_TAKES_TOO_LONG = "SET statement_timeout = '1ms'; SELECT pg_sleep(3600)"
"""One message: the error takes the setting back with it, so that the limit can strike nothing else."""


def run(connection: PGconn, trouble: Trouble, statement: Statement, values: Mapping[str, str | int | None]) -> Reply:
    """Send a statement with something going wrong, and return the reply; without an answer the connection has ended."""
    if connection.status != pq.ConnStatus.OK:
        return libpq.run(connection, statement.sent)  # it has ended before: nothing more can go wrong with it
    if trouble.kind == ERROR_AT:
        return libpq.run(connection, _raise(trouble.sqlstate or ""))
    texts, oids = libpq.bind(statement.parameters, values)
    if trouble.kind == LOSE_COMMIT:
        return _cut(connection)
    if trouble.kind == STATEMENT_TIMEOUT:
        return libpq.run(connection, _TAKES_TOO_LONG)
    send = partial(libpq.run_with, connection, statement.sent, texts, oids)
    if trouble.kind == LOSE_ACK:
        # Whoever cut it earlier would leave a statement that may wait for a lock, and could not notice that its client has gone.
        reply = send()
        return reply if reply.ended else _cut(connection)
    return _under(connection, _SETTINGS[trouble.kind], send)


def _under(connection: PGconn, setting: str, send: Callable[[], Reply]) -> Reply:
    """Send a statement under a setting. In a transaction that it aborts, the rollback undoes the setting."""
    prepared = libpq.run(connection, f"SET {setting}")
    if prepared.ended:
        return prepared
    libpq.expect(prepared, "preparing a fault")
    reply = send()
    if connection.transaction_status in (pq.TransactionStatus.IDLE, pq.TransactionStatus.INTRANS):
        libpq.expect(libpq.run(connection, f"RESET {setting.partition(' ')[0]}"), "ending a fault")
    return reply


def _raise(sqlstate: str) -> str:
    return f"DO $$ BEGIN RAISE EXCEPTION '{ASKED_FOR}' USING ERRCODE = {libpq.literal(sqlstate)}; END $$"


def _cut(connection: PGconn) -> Reply:
    """End the connection without a word: the server reads the end of the stream."""
    with socket.socket(fileno=os.dup(connection.socket)) as end:
        end.shutdown(socket.SHUT_RDWR)
    connection.finish()
    return Reply(libpq.LOST, "the connection was lost", (), (), [], 0, "", ended=True)
