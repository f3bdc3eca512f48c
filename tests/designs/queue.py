"""A design installed in a database, its operations run one by one at chosen times."""

from __future__ import annotations

from copy import copy

from psycopg.pq.abc import PGconn

from simrunner.model.design import Design
from simrunner.model.operations import SCHEMAS
from simrunner.runtime import clock, libpq
from simrunner.runtime.database import Database

AVAILABLE_US = libpq.microseconds("2026-09-22 06:00:00+00:00") or 0
"""When the seed's jobs become available."""

Row = dict[str, str | None]
Values = dict[str, str | int | None]

VALUES: Values = {
    "worker_id": "worker-a.1",
    "token": "worker-a.1/1",
    "batch": 1,
    "lease_ms": 15_000,
    "retry_delay_ms": 0,
    "max_attempts": 2,
    "error": "boom",
    "first_job": 25,
    "jobs": 24,
    "priority": 0,
    "payload": "payload",
    "key": None,
    "attempt": 1,
    "job_id": "1",
    "as_of": clock.literal(AVAILABLE_US),
}


class Queue:
    """One connection to a design's tables, with the fixture in them."""

    def __init__(self, database: Database, design: Design) -> None:
        self.design = design
        self.database = database
        self.connection: PGconn = libpq.connect(database.conninfo("test"))
        self.at(0)
        for name in SCHEMAS:
            if design.offers(name):
                self.run(name)
        self.run("seed")

    def reset(self) -> None:
        """Bring tables and clock back to how they were when the fixture was made."""
        self.database.truncate([table.table for table in self.design.state_tables])
        self.at(0)
        self.run("seed")

    def other_session(self) -> Queue:
        """Return a second connection to the same tables."""
        other = copy(self)
        other.connection = libpq.connect(self.database.conninfo("other"))
        other.at(0)
        return other

    def at(self, ms: int) -> None:
        """Set the time of the next transactions, in milliseconds after the seed became available."""
        libpq.expect(libpq.run(self.connection, clock.set_transaction_time(AVAILABLE_US + ms * 1000)), "setting the clock")

    def run(self, operation: str, **values: str | int | None) -> list[Row]:
        """Run an operation, each later statement once per row of the one before it; return the last rows."""
        rows: list[Row] = [{}]
        for statement in self.design.operations[operation].statements:
            rows = [
                found for row in rows for found in self.send(statement.sent, statement.parameters, {**VALUES, **values, **row})
            ]
            if not rows and operation not in (*SCHEMAS, "seed"):
                break
            rows = rows or [{}]
        return rows

    def claim(self, worker: str, **values: str | int | None) -> list[str | None]:
        """Claim as a worker, token `<worker>/1`; return the job ids."""
        rows = self.run("claim", worker_id=worker, token=f"{worker}/1", **values)
        return [row[self.design.operations["claim"].results["job"]] for row in rows]

    def owns(self, operation: str, worker: str, job: str, **values: str | int | None) -> bool:
        """Run an owner's write; whether it was accepted."""
        return bool(self.run(operation, worker_id=worker, token=f"{worker}/1", job_id=job, **values))

    def job(self, job: str) -> Row:
        """Return the canonical row of a job."""
        statement = self.design.operations["jobs"].statements[0].sent
        return self.send(f"SELECT * FROM ({statement}) j WHERE job = ANY($1)", (), {}, [libpq.array([job])])[0]

    def send(self, sent: str, names: tuple[str, ...], values: Values, given: list[bytes] | None = None) -> list[Row]:
        texts, oids = libpq.bind(names, values)
        reply = libpq.expect(libpq.run_with(self.connection, sent, given or texts, None if given else oids), sent)
        return [dict(zip(reply.columns, row, strict=True)) for row in reply.rows]
