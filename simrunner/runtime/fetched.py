"""How many buffers of the design's own relations a session has fetched, as the server counts them for its statistics.

The server counts each buffer that is fetched of a table, an index or a TOAST table, whether it was in memory or not, and keeps
the counts of a session until they are flushed, which never happens inside a transaction. So the difference between two looks in
one transaction is exact, needs no rights, and leaves out the catalog, of which a new session reads more than an old one.
https://www.postgresql.org/docs/18/monitoring-stats.html#MONITORING-STATS-FUNCTIONS
"""

from __future__ import annotations

from psycopg.pq.abc import PGconn

from simrunner.runtime import libpq

_FETCHED = """
WITH own AS (SELECT oid, reltoastrelid FROM pg_class WHERE relnamespace = 'design'::regnamespace),
     toast AS (SELECT reltoastrelid AS oid FROM own WHERE reltoastrelid <> 0),
     every AS (SELECT oid FROM own UNION ALL SELECT oid FROM toast
               UNION ALL SELECT indexrelid FROM pg_index JOIN toast ON oid = indrelid)
SELECT CASE WHEN current_setting('track_counts')::boolean THEN sum(pg_stat_get_xact_blocks_fetched(oid)) END FROM every
"""


def buffers_fetched(connection: PGconn) -> int | None:
    """Return what the open transaction's session has fetched since its counts were last flushed.

    None: the server does not count (`track_counts`), or the session or its transaction has failed.
    """
    reply = libpq.run(connection, _FETCHED)
    count = reply.rows[0][0] if reply.rows else None
    return None if count is None else int(count)
