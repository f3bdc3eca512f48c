"""Empties the tables of a design between two schedules, so that their physical state is that of a fresh database.

TRUNCATE does it always, but makes new files for every table, index and TOAST table: up to 10 ms. DELETE and VACUUM with TRUNCATE
do it in 2 ms where nothing is left behind that a statement could notice: no page in a heap or a TOAST table, no third page in an
index (its first two are there as soon as a row is; what was split stays), no statistics in pg_class. That is looked up each time;
where it is not so, TRUNCATE follows, and is used from then on.
"""

from __future__ import annotations

from collections.abc import Sequence

from psycopg.pq.abc import PGconn

from simrunner.limits import LIMITS
from simrunner.runtime import libpq
from simrunner.runtime.database import Database

TRUNCATE_EVERY = 200
"""The truth log is emptied too, and what UPDATE leaves in pg_class, each time that so many schedules were run."""

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
_RESTART = """
SELECT setval(seqrelid, seqstart, false) FROM pg_sequence
 WHERE seqrelid >= 16384 AND seqrelid <> pg_get_serial_sequence('simrunner.truth', 'seq')::regclass
"""


class Emptier:
    """Empties the tables of a database in which a design was installed; the first time, and now and then, by TRUNCATE."""

    def __init__(self, connection: PGconn, database: Database) -> None:
        self._connection = connection
        tables = [row[0] or "" for row in self._run(_TABLES).rows]
        of_design = [table for table in tables if table.startswith("design.")]
        relations = [(row[0] or "", row[1]) for row in self._run(_RELATIONS).rows]
        truncate_sql = database.truncate_sql([table.replace('"', "") for table in tables])
        self._truncate_sql = f"{_patience()}; {truncate_sql}; RESET lock_timeout"
        self._delete_sql = _delete_sql(of_design)
        self._vacuum_sql = f"VACUUM (TRUNCATE, INDEX_CLEANUP ON, SKIP_DATABASE_STATS) {', '.join(of_design)}"
        self._forget_sql = _forget_sql([oid for oid, _ in relations])
        self._left_sql = _left_sql(
            [oid for oid, kind in relations if kind == "i"], [oid for oid, kind in relations if kind != "i"]
        )
        self._can_delete = database.cluster.embedded and bool(of_design) and not self._run(_HINDRANCES).rows
        self._emptied = 0

    def empty(self) -> None:
        """Empty them. Raises ServerError, also if a stranger's session has one locked."""
        by_delete = self._can_delete and self._emptied % TRUNCATE_EVERY != 0
        if by_delete:
            self._can_delete = by_delete = self._deleted()
        if not by_delete:
            self._run(self._truncate_sql)
        self._emptied += 1

    def _deleted(self) -> bool:
        """Delete, vacuum and forget; return whether that left nothing."""
        self._run(self._delete_sql)
        self._run(self._vacuum_sql)
        return not self._run(f"{self._forget_sql}; RESET lock_timeout; {self._left_sql}").rows

    def _run(self, sql: str) -> libpq.Reply:
        return libpq.expect(libpq.run(self._connection, sql), "emptying the tables of the last run")


def _patience() -> str:
    return f"SET lock_timeout = '{int(LIMITS.backend_gone_seconds * 1000)}ms'"


def _delete_sql(tables: Sequence[str]) -> str:
    """Delete all rows without firing the design's triggers, restart sequences, forget what ANALYZE found."""
    deletes = "; ".join(f"DELETE FROM {table}" for table in tables)
    return (
        f"{_patience()}; SET session_replication_role = replica; {deletes}; RESET session_replication_role; {_RESTART};"
        " DELETE FROM pg_statistic WHERE starelid >= 16384; DELETE FROM pg_statistic_ext_data"
    )


def _forget_sql(relations: Sequence[str]) -> str:
    """Bring the planner's figures of some relations back to those of new ones."""
    return (
        f"UPDATE pg_class SET relpages = 0, reltuples = -1, relallvisible = 0 WHERE oid IN ({', '.join(relations)})"
        " AND (relpages, reltuples, relallvisible) <> (0, -1, 0)"
    )


def _left_sql(indexes: Sequence[str], others: Sequence[str]) -> str:
    """List what still has pages."""
    tests = [(f"{_PAGES_OF_INDEX} * current_setting('block_size')::int", indexes), ("0", others)]
    return " UNION ALL ".join(
        f"SELECT oid FROM unnest(ARRAY[{', '.join(oids)}]::oid[]) oid WHERE pg_relation_size(oid) > {most}"
        for most, oids in tests
    )
