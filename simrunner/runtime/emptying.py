"""Empties the tables of a design between two schedules, so that no statement notices that there was one before.

TRUNCATE does it always, but makes new files for every table, index and TOAST table: up to 10 ms. DELETE and VACUUM with TRUNCATE
do it in 2 ms where nothing is left behind that a statement could notice: no page in a heap or a TOAST table, no third page in an
index (its first two are there as soon as a row is; what was split stays), no statistics in pg_class. That is looked up each time;
where it is not so, TRUNCATE follows, and is used from then on.

Both change the catalog, so that every session has to read anew what it knows of the tables: several milliseconds for the
next schedule. DELETE alone leaves dead rows, whose places are used again sooner or later, and then ties come in another order.
Not so as long as everything lies in one page of each table and nothing is cleaned up: then rows lie in the order in which they
were written, as in a new table. An old snapshot sees to the latter. The former is looked up after the schedule, and whether it
has left figures for the planner; one of which that is not so is not sure and is run again, with fresh tables. Plans are the
same: the planner takes every table that was never vacuumed for one of at least ten pages.
"""

from __future__ import annotations

from collections.abc import Sequence

from psycopg import pq

from simrunner.limits import LIMITS
from simrunner.model.workload import Workload
from simrunner.runtime import libpq
from simrunner.runtime.database import Database

TRUNCATE_EVERY = 200
"""The truth log is emptied too, and what UPDATE leaves in pg_class, each time that they were emptied so often."""
LIGHTLY_MAX = 500
"""So often in a row dead rows are left at most."""
_HARMLESS = frozenset({"kill", "pause"})
"""Faults that clean nothing up and keep nothing from being cleaned up."""
_DOING = "emptying the tables of the last run"
_FORGET = "DELETE FROM pg_statistic WHERE starelid >= 16384; DELETE FROM pg_statistic_ext_data"

_TABLES = """
SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'p') AND n.nspname IN ('design', 'simrunner') ORDER BY 1
"""
_HINDRANCES = """
SELECT 'a kind of index of which pages are left' FROM pg_class c JOIN pg_am a ON a.oid = c.relam
 WHERE c.oid >= 16384 AND c.relkind IN ('i', 'I') AND a.amname <> 'btree'
UNION ALL SELECT 'partitions' FROM pg_class WHERE oid >= 16384 AND relkind = 'p'
UNION ALL SELECT 'numbers that sessions keep' FROM pg_sequence WHERE seqrelid >= 16384 AND seqcache > 1
UNION ALL SELECT 'triggers that always fire' FROM pg_trigger WHERE oid >= 16384 AND tgenabled IN ('A', 'R')
"""
_RELATIONS = """
SELECT c.oid, c.relkind FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid
  JOIN pg_class t ON c.oid = t.oid OR i.indrelid = t.oid OR t.reltoastrelid = c.oid OR t.reltoastrelid = i.indrelid
 WHERE t.relkind = 'r' AND t.relnamespace = 'design'::regnamespace
"""
_PAGES_OF_INDEX = 2
_SEQUENCES = """
SELECT seqrelid, seqstart FROM pg_sequence
 WHERE seqrelid >= 16384 AND seqrelid <> pg_get_serial_sequence('simrunner.truth', 'seq')::regclass
 ORDER BY seqrelid
"""
_DELETE = """
CREATE OR REPLACE FUNCTION simrunner.delete_rows() RETURNS void LANGUAGE plpgsql
SET lock_timeout = '{patience_ms}ms' SET search_path = pg_catalog AS $$
BEGIN
    {statements}
END $$
"""
"""Deletes all rows and restarts sequences; as a function, so that its plans are kept."""
_NO_TRIGGERS = "SET session_replication_role = replica"
"""For a whole session that does nothing else: changing it forgets all of a session's plans, the observer's too."""
_NO_NEWS = "TRUNCATE simrunner.truth RESTART IDENTITY"
"""Where triggers fire when the tables are emptied: what that logged is no news to the next run."""


class Emptier:
    """Empties the tables of a database in which a design was installed; the first time, and now and then, by TRUNCATE.

    Raises ServerError.
    """

    def __init__(self, database: Database) -> None:
        self._connection = libpq.connect(database.conninfo("emptier"))
        self._old = libpq.connect(database.conninfo("old-snapshot"))
        if database.cluster.embedded:
            self._run(_NO_TRIGGERS)
        tables = [row[0] or "" for row in self._run(_TABLES).rows]
        of_design = [table for table in tables if table.startswith("design.")]
        relations = [(row[0] or "", row[1]) for row in self._run(_RELATIONS).rows]
        truncate_sql = database.truncate_sql([table.replace('"', "") for table in tables])
        if not database.cluster.embedded:
            truncate_sql += f"; {_NO_NEWS}"
        self._truncate_sql = f"SET lock_timeout = '{_patience_ms()}ms'; {truncate_sql}; RESET lock_timeout"
        self._vacuum_sql = f"VACUUM (TRUNCATE, INDEX_CLEANUP ON, SKIP_DATABASE_STATS) {', '.join(of_design)}"
        self._forget_sql = _forget_sql([oid for oid, _ in relations])
        indexes, others = [oid for oid, kind in relations if kind == "i"], [oid for oid, kind in relations if kind != "i"]
        self._left_sql = _larger_sql(indexes, _PAGES_OF_INDEX, others, 0)
        self._can_delete = database.cluster.embedded and bool(of_design) and not self._run(_HINDRANCES).rows
        if self._can_delete:
            self._run(_delete_sql(of_design, [(row[0] or "", row[1] or "") for row in self._run(_SEQUENCES).rows]))
            self._prepare("delete", "SELECT simrunner.delete_rows()")
            known = _analyzed_sql([oid for oid, _ in relations])
            self._prepare("unsure", f"{_larger_sql(indexes, _PAGES_OF_INDEX, others, 1)} UNION ALL {known}")
        self._emptied = 0
        self._lightly = 0
        """So many times in a row dead rows were left."""
        self._lightly_max = LIGHTLY_MAX

    def empty(self, *, fresh: bool = True) -> None:
        """Empty them. Raises ServerError, also if a stranger's session has one locked.

        Not `fresh`: dead rows may be left. Then `is_sure` says after the schedule whether it was as with fresh tables.
        """
        if self._emptied and not fresh and self._can_delete and self._lightly < self._lightly_max:
            self._lightly += 1
            self._run_prepared("delete")
            return
        self._lightly = 0
        self._end_snapshot()
        by_delete = self._can_delete and self._emptied % TRUNCATE_EVERY != 0
        if by_delete:
            self._can_delete = by_delete = self._deleted()
        if not by_delete:
            self._run(self._truncate_sql)
        self._emptied += 1
        if not fresh:
            self._run_old("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")

    @property
    def backend_pid(self) -> int:
        """Of the session that empties the tables."""
        return self._connection.backend_pid

    @property
    def keeps_rows(self) -> bool:
        """Whether nothing is cleaned up, because of an old snapshot."""
        return self._old.transaction_status != pq.TransactionStatus.IDLE

    def is_sure(self) -> bool:
        """Whether what was run since the tables were emptied lies in them as it would in fresh ones.

        From then on they are emptied lightly fewer times in a row than led to this.
        """
        if not self._lightly:
            return True
        unsure = self._run_prepared("unsure").rows
        if unsure:
            self._lightly_max = self._lightly - 1
        return not unsure

    def close(self) -> None:
        """End its sessions."""
        self._connection.finish()
        self._old.finish()

    def _end_snapshot(self) -> None:
        if self.keeps_rows:
            self._run_old("ROLLBACK")

    def _run_old(self, sql: str) -> None:
        libpq.expect(libpq.run(self._old, sql), "holding an old snapshot")

    def _deleted(self) -> bool:
        """Delete, vacuum and forget; return whether that left nothing."""
        self._run_prepared("delete")
        self._run(_FORGET)
        self._run(self._vacuum_sql)
        return not self._run(f"{self._forget_sql}; {self._left_sql}").rows

    def _prepare(self, name: str, sql: str) -> None:
        libpq.expect(libpq.prepare(self._connection, name, sql), _DOING)

    def _run_prepared(self, name: str) -> libpq.Reply:
        return libpq.expect(libpq.run_prepared(self._connection, name, ()), _DOING)

    def _run(self, sql: str) -> libpq.Reply:
        return libpq.expect(libpq.run(self._connection, sql), _DOING)


def cleans_up(workload: Workload) -> bool:
    """Whether the course of a workload may depend on what a VACUUM, an ANALYZE or an old snapshot finds."""
    maintains = bool(workload.vacuum_every_rounds) or any(step.do in ("vacuum", "analyze") for step in workload.script)
    return maintains or any(fault.kind not in _HARMLESS for fault in workload.faults)


def _patience_ms() -> int:
    return int(LIMITS.backend_gone_seconds * 1000)


def _delete_sql(tables: Sequence[str], sequences: Sequence[tuple[str, str]]) -> str:
    """Make the function; `sequences` are their oids and first values."""
    deletes = [f"DELETE FROM {table};" for table in tables]
    restarts = [f"PERFORM setval({oid}::regclass, {first}, false);" for oid, first in sequences]
    return _DELETE.format(patience_ms=_patience_ms(), statements="\n    ".join((*deletes, *restarts)))


def _forget_sql(relations: Sequence[str]) -> str:
    """Bring the planner's figures of some relations back to those of new ones."""
    return (
        f"UPDATE pg_class SET relpages = 0, reltuples = -1, relallvisible = 0 WHERE oid IN ({', '.join(relations)})"
        " AND (relpages, reltuples, relallvisible) <> (0, -1, 0)"
    )


def _analyzed_sql(relations: Sequence[str]) -> str:
    """List what the planner has figures of: a statement of the design, such as ANALYZE, has left them."""
    return f"SELECT oid FROM pg_class WHERE oid IN ({', '.join(relations)}) AND (relpages, reltuples) <> (0, -1)"


def _larger_sql(indexes: Sequence[str], index_pages: int, others: Sequence[str], pages: int) -> str:
    """List what has more pages than it may have."""
    return " UNION ALL ".join(
        f"SELECT oid FROM unnest(ARRAY[{', '.join(oids)}]::oid[]) oid"
        f" WHERE pg_relation_size(oid) > {most} * current_setting('block_size')::int"
        for most, oids in ((index_pages, indexes), (pages, others))
    )
