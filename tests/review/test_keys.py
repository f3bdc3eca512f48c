"""The keys that a schema leaves, compared with those that PostgreSQL has after the same statements."""

from __future__ import annotations

import pytest
import sqlglot

from simrunner.review.keys import keys_of
from simrunner.runtime import libpq
from simrunner.runtime.database import Database

TABLE = "CREATE TABLE t (a int CONSTRAINT own PRIMARY KEY, b int UNIQUE, c int, CONSTRAINT pair UNIQUE (a, b), UNIQUE (b, a))"
ON_SERVER = """
SELECT relname, string_agg(attname, ',' ORDER BY attname)
FROM pg_index
JOIN pg_class ON pg_class.oid = indexrelid
JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey)
WHERE indrelid = 't'::regclass AND indisunique AND indpred IS NULL
GROUP BY relname
"""


@pytest.mark.parametrize(
    ("left", "changes"),
    [
        ("own pair t_b_a_key t_b_key", ()),
        ("pair t_b_a_key t_b_key", ("ALTER TABLE t DROP CONSTRAINT own",)),
        ("own pair t_b_a_key", ("ALTER TABLE t DROP CONSTRAINT IF EXISTS t_b_key CASCADE",)),
        ("own", ("ALTER TABLE t DROP COLUMN b",)),
        ("pair t_b_a_key t_b_key t_pkey", ("ALTER TABLE t DROP CONSTRAINT own, ADD PRIMARY KEY (c)",)),
        ("own pair t_b_a_key t_b_key t_c_key", ("ALTER TABLE t ADD UNIQUE (c)",)),
        ("own pair t_b_a_key t_b_key t_d_key", ("ALTER TABLE t ADD COLUMN d int UNIQUE",)),
        ("own pair t_b_a_key t_b_key t_c_idx", ("CREATE UNIQUE INDEX ON t (c)",)),
        ("own pair t_b_a_key t_b_key", ("CREATE UNIQUE INDEX i ON t (c)", "DROP INDEX i")),
        ("own pair t_b_a_key t_b_key", ("CREATE UNIQUE INDEX ON t (c) WHERE a > 1", "CREATE INDEX ON t (c)")),
    ],
)
def test_what_is_left_is_what_the_server_has(database: Database, left: str, changes: tuple[str, ...]) -> None:
    statements = (TABLE, *changes)
    session = libpq.connect(database.conninfo("outside"))
    try:
        for sql in ("CREATE SCHEMA keys", "SET search_path = keys", *statements):
            libpq.expect(libpq.run(session, sql), sql)
        rows = libpq.expect(libpq.run(session, ON_SERVER), "looking").rows
    finally:
        libpq.run(session, "DROP SCHEMA keys CASCADE")
        session.finish()
    found = keys_of(sqlglot.parse_one(sql, read="postgres") for sql in statements)["t"]
    assert {name: ",".join(sorted(columns)) for name, columns in found.items()} == {str(name): columns for name, columns in rows}
    assert " ".join(sorted(found)) == left
