"""The database session of an actor: transactions and operations whose every statement parks at the gate first.

The actor's code above it reads like a worker's code; the virtual clock and the deadlock setting are sent here, each as a
message of its own, before the statement that they are for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import NamedTuple

from psycopg import pq
from psycopg.pq.abc import PGconn

from simrunner.model.design import Design, OperationSource, Statement
from simrunner.model.tape import IDLE_TIMEOUT
from simrunner.runtime import clock, libpq, trouble
from simrunner.runtime.fetched import buffers_fetched
from simrunner.runtime.gate import ActorGate, Terminated
from simrunner.runtime.libpq import Reply
from simrunner.runtime.messages import Go, Intent, Outcome, Returned

Values = Mapping[str, str | int | None]


class StatementFailed(Exception):
    """A statement failed inside a transaction, which has been rolled back."""

    def __init__(self, sqlstate: str, message: str) -> None:
        self.sqlstate = sqlstate
        super().__init__(f"{sqlstate}: {message}")


class Subject(NamedTuple):
    """Which job and claim an operation is about, for the record."""

    job: str | None = None
    token: str | None = None
    attempt: int | None = None


class Transaction:
    """One open transaction. `commit_point` is the crash point at which its COMMIT stands, None: none."""

    def __init__(self, session: Session, operation: str, subject: Subject, alone_at: tuple[str | None, ...] = ()) -> None:
        self._session = session
        self.operation = operation
        """What its next statement is part of. The transaction is named after the last one."""
        self.subject = subject
        self.commit_point: str | None = None
        self._alone_at = alone_at

    def run(self, source: OperationSource, values: Values, before: str | None = None) -> tuple[Returned, ...]:
        """Run the statements of an operation and return its mapped result. Raises StatementFailed.

        A statement that uses a parameter named like a column of the one before runs once for each row which that one returned.
        `before` is the crash point at which the operation's first statement stands.
        """
        columns: tuple[str, ...] = ()
        rows: list[tuple[str | None, ...]] = []
        returned: tuple[Returned, ...] = ()
        for number, statement in enumerate(source.statements, 1):
            fed = [dict(zip(columns, row, strict=True)) for row in rows] if _is_fed(statement, columns) else [{}]
            rows, returned = [], ()
            for row_values in fed:
                subject = self.subject._replace(job=row_values.get("job_id", self.subject.job))
                reply, mapped = self._statement(source, number, {**values, **row_values}, subject, before)
                before = None
                columns = reply.columns
                rows += reply.rows
                returned += mapped
        return returned

    def _statement(
        self, source: OperationSource, number: int, values: Values, subject: Subject, crash_point: str | None
    ) -> tuple[Reply, tuple[Returned, ...]]:
        statement = source.statements[number - 1]
        last = number == len(source.statements)
        intent = Intent(
            f"{self.operation}:{number}",
            self.operation,
            str(number),
            self._alone_at[0] if self._alone_at else crash_point,
            *subject,
            probes=self.operation == "claim" and number == 1,
            ends=bool(self._alone_at),
            connection=self._session.place,
        )
        reply = self._session.statement(intent, statement, values, source.results if last else {})
        if reply.sqlstate is not None:
            raise StatementFailed(reply.sqlstate, reply.message)
        return reply, _mapped(reply, source.results) if last else ()


class Session:
    """One of an actor's connections behind its gate; `place` says which, 0 is the first."""

    def __init__(
        self,
        connection: PGconn,
        gate: ActorGate,
        design: Design,
        superuser: bool,
        *,
        counts_buffers: bool = False,
        place: int = 0,
    ) -> None:
        self.place = place
        self._connection = connection
        self._gate = gate
        self._isolation = design.isolation
        self._autocommit = design.autocommit
        self.began_us = 0
        """Virtual time of the last BEGIN: what now() tells the transaction."""
        self._statement_clock = design.uses_statement_clock
        self._superuser = superuser
        self._counts_buffers = counts_buffers
        self._keeps_snapshot = False
        """The open transaction has one snapshot for all its statements."""
        self._began = 0
        self._deferred_begin: str | None = None
        self._fast_deadlock = False
        self._fast_before = False

    @contextmanager
    def transaction(self, operation: str, subject: Subject, before: str | None = None) -> Iterator[Transaction]:
        """Run a transaction; `before` is the crash point of its BEGIN. Raises StatementFailed or Terminated after a ROLLBACK.

        An operation that the design sends by itself has no BEGIN: its one statement stands there, and is all of the transaction.
        """
        if operation in self._autocommit:
            yield Transaction(self, operation, subject, (before,))
            return
        self.begin(operation, subject, before)
        transaction = Transaction(self, operation, subject)
        try:
            yield transaction
        except (StatementFailed, Terminated):
            self._roll_back(transaction)
            raise
        try:
            self.end("COMMIT", transaction.operation, transaction.subject, transaction.commit_point)
        except Terminated:
            self._roll_back(transaction)
            raise

    def _roll_back(self, transaction: Transaction) -> None:
        if self._deferred_begin is not None:  # it was not even sent
            self._deferred_begin = None
            return
        with suppress(ConnectionLost):  # then it is rolled back as well
            self.end("ROLLBACK", transaction.operation, transaction.subject)

    def begin(self, operation: str, subject: Subject, before: str | None = None, isolation: str | None = None) -> None:
        """Park, then begin a transaction, at the design's isolation level unless another is named."""
        intent = Intent(f"{operation}:BEGIN", operation, "BEGIN", before, *subject, connection=self.place)
        level = isolation or self._isolation
        self._keeps_snapshot = level != "read committed"
        begin = f"BEGIN ISOLATION LEVEL {level.upper()}"
        if self._gate.defers(intent):
            self._deferred_begin = begin
        else:
            self._finish(intent, self._begin(begin, self._gate.park(intent)), ())

    def end(self, verb: str, operation: str, subject: Subject, crash_point: str | None = None) -> None:
        """Park, then COMMIT or ROLLBACK. Raises StatementFailed if it did not commit."""
        intent = Intent(f"{operation}:{verb}", operation, verb, crash_point, *subject, ends=True, connection=self.place)
        go = self._park(intent)
        if go.trouble is not None and go.trouble.kind == IDLE_TIMEOUT:
            libpq.run(self._connection, "SET idle_in_transaction_session_timeout = '1ms'")
            go = self._gate.park(intent)
        if go.trouble is None:
            reply = libpq.run(self._connection, verb)
        else:
            reply = trouble.run(self._connection, go.trouble, Statement(verb, verb, (), 1), {})
        if reply.sqlstate is not None or reply.tag == "ROLLBACK":
            self._fast_deadlock = self._fast_before  # a plain SET is undone with its transaction
        if verb == "COMMIT" and reply.tag == "ROLLBACK":
            reply = reply._replace(sqlstate="25P02", message="the transaction had failed and was rolled back")
        self._finish(intent, reply, ())
        if reply.sqlstate is not None:
            raise StatementFailed(reply.sqlstate, reply.message)

    def local(self, label: str, subject: Subject, crash_point: str | None) -> None:
        """Park before a local action that touches no database."""
        intent = Intent(label, None, None, crash_point, *subject)
        if not self._gate.defers(intent):
            self._gate.park(intent)
            self._gate.finish(Outcome(intent, None, "", 0, (), self._gate.elapsed_us()))

    def statement(self, intent: Intent, statement: Statement, values: Values, results: Mapping[str, str]) -> Reply:
        """Park, then send one statement of an operation."""
        go = self._park(intent)
        if intent.ends:
            self._expect(self._begin("", go), "setting up a step")
        self._set_deadlock_timeout(go)
        if self._statement_clock and self._connection.transaction_status != pq.TransactionStatus.INERROR:
            self._set(clock.set_statement_time(go.now_us))
        if "client_now" in statement.parameters:
            values = {**values, "client_now": clock.literal(go.now_us + go.skew_ms * 1000)}
        before = self._fetched(intent)
        if go.trouble is None:
            reply = libpq.run_with(self._connection, statement.sent, *libpq.bind(statement.parameters, values))
        else:
            reply = trouble.run(self._connection, go.trouble, statement, values)
        after = None if before is None else self._fetched(intent)
        buffers = None if before is None or after is None else after - before
        self._finish(intent, reply, _mapped(reply, results) if results else (), buffers)
        return reply

    def _fetched(self, intent: Intent) -> int | None:
        """What the session has fetched so far, where that is counted.

        Not of a claim that is a transaction of its own: that is over before anybody can ask. Nor where asking would take the
        snapshot with which the claim is to begin.
        """
        if not self._counts_buffers or intent.operation != "claim" or intent.ends or self._keeps_snapshot:
            return None
        return buffers_fetched(self._connection)

    def _park(self, intent: Intent) -> Go:
        """Park, and begin the transaction first if that was deferred."""
        go = self._gate.park(intent)
        if self._deferred_begin is not None:
            begin, self._deferred_begin = self._deferred_begin, None
            self._expect(self._begin(begin, go), "beginning a transaction")
        return go

    def _begin(self, begin: str, go: Go) -> Reply:
        self._began += 1
        self.began_us = go.now_us
        self._fast_before = self._fast_deadlock
        # One message: a SET takes no snapshot. A rollback undoes it, but the next BEGIN comes with its own.
        clock_sql = clock.set_transaction_time(go.now_us)
        return libpq.run(self._connection, f"{clock_sql}; SET simrunner.txn = {self._began}; {begin}")

    def _set_deadlock_timeout(self, go: Go) -> None:
        # Whoever closes a cycle of waiters is to be the victim: only then is it the same one in every run.
        aborted = self._connection.transaction_status == pq.TransactionStatus.INERROR
        if self._superuser and not aborted and go.fast_deadlock != self._fast_deadlock:
            self._set(f"SET deadlock_timeout = '{'1ms' if go.fast_deadlock else '100s'}'")
            self._fast_deadlock = go.fast_deadlock

    def _set(self, sql: str) -> None:
        self._expect(libpq.run(self._connection, sql), "setting up a step")

    def _expect(self, reply: Reply, doing: str) -> None:
        if not reply.ended:  # else the statement that follows tells it
            libpq.expect(reply, doing)

    def _finish(self, intent: Intent, reply: Reply, returned: tuple[Returned, ...], buffers: int | None = None) -> None:
        elapsed = self._gate.elapsed_us()
        outcome = Outcome(intent, reply.sqlstate, reply.message, reply.affected, returned, elapsed, reply.ended, buffers)
        self._gate.finish(outcome)
        if reply.ended:
            raise (CommitLost if intent.statement == "COMMIT" else ConnectionLost)(reply.message, self.place)


class ConnectionLost(Exception):
    """A session has ended under a statement: whether that happened is not known. `place` is that of its connection."""

    def __init__(self, message: str, place: int) -> None:
        self.place = place
        super().__init__(message)


class CommitLost(ConnectionLost):
    """The session has ended under a COMMIT."""


def _is_fed(statement: Statement, columns: tuple[str, ...]) -> bool:
    return any(name in columns for name in statement.parameters)


def _mapped(reply: Reply, results: Mapping[str, str]) -> tuple[Returned, ...]:
    if not results or not reply.rows:
        return ()
    place = {field: reply.columns.index(column) for field, column in results.items() if column in reply.columns}

    def value(row: tuple[str | None, ...], field: str) -> str | None:
        return row[place[field]] if field in place else None

    return tuple(
        Returned(
            value(row, "job"),
            value(row, "token"),
            _integer(value(row, "attempt")),
            value(row, "lease_until"),
            value(row, "plan" if "plan" in place else "count"),
            value(row, "state"),
        )
        for row in reply.rows
        if any(value(row, field) is not None for field in ("job", "count", "plan"))
    )


def _integer(text: str | None) -> int | None:
    return None if text is None else int(text)
