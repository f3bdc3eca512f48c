"""The observer's session: it reads committed rows, a claim's candidates and who waits for whom, and takes no lock.

Its planner settings are its own: prepared generic plans, and no sort or sequential scan where an index serves, so that looking
stays cheap at any depth of the queue. They do not reach the sessions under test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from psycopg.pq.abc import PGconn

from simrunner.config import place_of
from simrunner.errors import DesignError
from simrunner.limits import LIMITS
from simrunner.model.design import Design, OrderColumn
from simrunner.model.job import JobRow, JobState
from simrunner.runtime import libpq
from simrunner.runtime.libpq import Reply

_SETUP = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_sort = off"
_MEMBERS = "SELECT m.xid FROM (SELECT $1::xid AS id) x, pg_get_multixact_members(x.id) m WHERE mxid_age(x.id) > 0"
_HOLDERS = "SELECT transactionid::text, pid FROM pg_locks WHERE locktype = 'transactionid' AND granted"
_JOB_COLUMNS = tuple(name for name in JobRow._fields if name != "order_key")
_TIMES = frozenset({"available_at", "claimed_at", "lease_until", "completed_at"})
_NUMBERS = frozenset({"attempts", "max_attempts"})
NULLS_LAST = 2**63 - 1
"""Stands for a null order column, which sorts last as in PostgreSQL's ascending order."""


class Candidate(NamedTuple):
    """One candidate of a claim."""

    job: str
    locker_pid: int | None
    """Backend whose open transaction locks the row; None: it is free."""


class Observer:
    """Reads the database for the coordinator."""

    def __init__(self, connection: PGconn, design: Design) -> None:
        self.connection = connection
        self._design = design
        self._finished_xmax: set[str] = {"0"}
        self._probe_limits: set[int] = set()
        self._layout: _Layout | None = None
        libpq.expect(libpq.run(connection, _SETUP), "preparing the observer")

    def prepare(self) -> None:
        """Prepare the reads of the design's tables. Raises DesignError if jobs.sql lacks a column."""
        jobs = self._design.operations["jobs"].statements[0].sent
        self._prepare("all-jobs", jobs)
        self._prepare("some-jobs", f"SELECT * FROM ({jobs}) j WHERE j.job = ANY($1)")
        if len(self._design.state_tables) == 1:
            self._prepare("image-jobs", self._image_query(jobs))
        self._prepare("blocking", "SELECT unnest(pg_blocking_pids($1))")
        self._prepare("holders", _HOLDERS)
        self._prepare("members", _MEMBERS)
        self._prepare("alive", "SELECT 1 FROM pg_stat_activity WHERE pid = $1")

    def all_jobs(self) -> list[JobRow]:
        """Read the canonical rows of all jobs: once at the start, once at the end."""
        return self._job_rows(self._run("all-jobs"))

    def jobs(self, ids: Sequence[str]) -> dict[str, JobRow]:
        """Read the canonical rows of some jobs; what is missing is gone."""
        return {row.job: row for row in self._job_rows(self._run("some-jobs", libpq.array(ids)))}

    def job_of_image(self, image: str) -> JobRow | None:
        """Return the canonical row of a table row given as JSON: the state in which one transaction left it."""
        rows = self._job_rows(self._run("image-jobs", image.encode()))
        return rows[0] if rows else None

    def audit(self) -> Reply | None:
        """Read the design's own audit trail, if it offers one."""
        if not self._design.offers("audit"):
            return None
        return self._expect(libpq.run(self.connection, self._design.operations["audit"].statements[0].sent))

    def candidates(self, as_of: str, unlocked: int, expected_locked: int) -> list[Candidate] | None:
        """Read a claim's candidates in claim order until `unlocked` free ones are among them.

        `as_of` is the claim's transaction time as a timestamptz literal. None: more are locked than LIMITS.probe_rows_max.
        """
        limit = unlocked + expected_locked
        while limit <= LIMITS.probe_rows_max:
            found = self._candidates(as_of, limit)
            if len(found) < limit or sum(1 for candidate in found if candidate.locker_pid is None) >= unlocked:
                return found
            limit *= 2
        return None

    def blocking_pids(self, pid: int) -> list[int]:
        """Backends that a waiting backend waits for (pg_blocking_pids); empty if it does not wait for a lock."""
        return [int(row[0] or 0) for row in self._run("blocking", str(pid).encode()).rows]

    def terminate(self, pid: int) -> None:
        """End a session of simrunner in this database, if it is still there."""
        sql = (
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = {pid} AND datname = current_database()"
            " AND usename = session_user AND starts_with(application_name, 'simrunner:')"
        )
        self._expect(libpq.run(self.connection, sql))

    def wal_writers(self) -> list[int]:
        """The server's process that writes its log in the background."""
        reply = self._expect(libpq.run(self.connection, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"))
        return [int(row[0] or 0) for row in reply.rows]

    def is_alive(self, pid: int) -> bool:
        """Whether a backend is still there: until it has left, it holds its locks."""
        return bool(self._run("alive", str(pid).encode()).rows)

    def maintain(self, command: str) -> None:
        """VACUUM or ANALYZE the state tables."""
        for state in self._design.state_tables:
            self._expect(libpq.run(self.connection, f"{command} {libpq.quote(state.table)}"))

    def _candidates(self, as_of: str, limit: int) -> list[Candidate]:
        if limit not in self._probe_limits:
            self._prepare(f"probe-{limit}", self._probe_query(limit))
            self._probe_limits.add(limit)
        # eligible.sql has one parameter, the time, and may do without
        times = [as_of.encode()] * bool(self._design.operations["eligible"].statements[0].parameters)
        rows = self._run(f"probe-{limit}", *times).rows
        unknown = dict.fromkeys(xmax for _, xmax in rows if xmax and xmax not in self._finished_xmax)
        holders = self._transaction_holders() if unknown else {}
        lockers = {xmax: self._locker(xmax, holders) for xmax in unknown}
        self._finished_xmax.update(xmax for xmax, pid in lockers.items() if pid is None)
        return [Candidate(job, lockers.get(xmax or "0")) for job, xmax in rows if job is not None]

    def _locker(self, xmax: str, holders: Mapping[str, int]) -> int | None:
        """Backend that locks a row with this xmax: a transaction's id, or that of a multixact, where several lock it."""
        if xmax in holders:
            return holders[xmax]
        members = libpq.run_prepared(self.connection, "members", [xmax.encode()])
        # where there is no such multixact any more the query fails: the transaction has ended
        return next((holders[xid] for (xid,) in members.rows if xid is not None and xid in holders), None)

    def _probe_query(self, limit: int) -> str:
        # The limit is a literal: a generic plan with a limit unknown to it may choose to read and sort the whole table.
        eligible = self._design.operations["eligible"].statements[0].sent
        state = self._design.state_tables[0]
        return (
            f"SELECT e.job, s.xmax FROM (SELECT q.job, row_number() OVER () AS place FROM ({eligible}) q LIMIT {limit}) e"
            f" LEFT JOIN {libpq.quote(state.table)} s ON s.{libpq.quote(state.job_column)} = e.job ORDER BY e.place"
        )

    def _transaction_holders(self) -> dict[str, int]:
        """Open transaction ids, sub-transactions included, and their backends: each holds a lock on its own id."""
        rows = self._run("holders").rows
        return {xid: int(pid) for xid, pid in rows if xid is not None and pid is not None}

    def _image_query(self, jobs: str) -> str:
        # A common table expression hides the table of the same name, so that jobs.sql maps an image like a stored row.
        table = libpq.quote(self._design.state_tables[0].table)
        name = libpq.quote(self._design.state_tables[0].table.rpartition(".")[2])
        image = f"SELECT (jsonb_populate_record(NULL::{table}, $1::jsonb)).*"
        return f"WITH {name} AS ({image}) SELECT * FROM ({jobs}) j"

    def _job_rows(self, reply: Reply) -> list[JobRow]:
        if self._layout is None:
            self._layout = _Layout.of(reply, self._design)
        return [self._layout.row(values) for values in reply.rows]

    def _prepare(self, name: str, sql: str) -> None:
        self._expect(libpq.prepare(self.connection, name, sql))

    def _run(self, name: str, *values: bytes) -> Reply:
        return self._expect(libpq.run_prepared(self.connection, name, values))

    def _expect(self, reply: Reply) -> Reply:
        return libpq.expect(reply, "observing the database")


class _OrderPlace(NamedTuple):
    """Where jobs.sql returns one order column, and how its text becomes a value."""

    place: int
    oid: int
    descending: bool

    def value(self, text: str | None) -> int | str:
        if text is None:
            return NULLS_LAST
        if self.oid in libpq.TEXT_OIDS:
            return text
        number = libpq.microseconds(text) if self.oid == libpq.TIMESTAMPTZ_OID else int(text)
        return -(number or 0) if self.descending else number or 0


class _Layout(NamedTuple):
    """Where jobs.sql keeps what, and how its texts become values."""

    places: tuple[int, ...]
    order: tuple[_OrderPlace, ...]
    path: str
    """`file:line` of jobs.sql."""

    @classmethod
    def of(cls, reply: Reply, design: Design) -> _Layout:
        source = design.operations["jobs"]
        path = place_of(design, source, source.statements[0])
        wanted = (*_JOB_COLUMNS, *(column.column for column in design.promises.order))
        missing = [name for name in wanted if name not in reply.columns]
        if missing:
            raise DesignError(f"lacks {', '.join(missing)}; expected the columns {', '.join(wanted)}", place=path)
        order = tuple(_order_place(reply, column, path) for column in design.promises.order)
        return cls(tuple(reply.columns.index(name) for name in _JOB_COLUMNS), order, path)

    def row(self, values: tuple[str | None, ...]) -> JobRow:
        fields = [self._field(name, values[place]) for name, place in zip(_JOB_COLUMNS, self.places, strict=True)]
        key = tuple(column.value(values[column.place]) for column in self.order)
        return JobRow._make([*fields, key or None])

    def _field(self, name: str, text: str | None) -> object:
        if text is None:
            return None
        if name in _TIMES:
            return libpq.microseconds(text)
        if name in _NUMBERS:
            return int(text)
        return self._state(text) if name == "state" else text

    def _state(self, text: str) -> JobState:
        try:
            return JobState(text)
        except ValueError:
            expected = ", ".join(JobState)
            raise DesignError(f"returned the state {text!r}; map it to one of {expected}", place=self.path) from None


def _order_place(reply: Reply, column: OrderColumn, path: str) -> _OrderPlace:
    place = reply.columns.index(column.column)
    oid = reply.oids[place]
    numeric = oid == libpq.TIMESTAMPTZ_OID or oid in libpq.INTEGER_OIDS
    if not numeric and (column.descending or oid not in libpq.TEXT_OIDS):
        raise DesignError(
            f"the order column {column.column} must be an integer or a timestamptz (or text, ascending)", place=path
        )
    return _OrderPlace(place, oid, column.descending)
