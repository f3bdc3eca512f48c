"""What the reviews say of claim forms happens on PostgreSQL: a claim that takes too many, and its near misses that do not."""

from __future__ import annotations

import psycopg
import pytest

from simrunner.runtime.database import Database

CHOICE = "SELECT id FROM q WHERE state = 'ready' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED"
UPDATE = "UPDATE q SET state = 'claimed' WHERE"


@pytest.mark.parametrize(
    ("claim", "rows"),
    [
        (f"{UPDATE} id IN ({CHOICE})", 10),
        (f"{UPDATE} id = ANY ({CHOICE})", 10),
        (f"DELETE FROM q WHERE id IN ({CHOICE})", 10),
        (f"{UPDATE} id = ANY (ARRAY({CHOICE}))", 1),
        (f"{UPDATE} id = ({CHOICE})", 1),
        (f"WITH c AS ({CHOICE}) {UPDATE} id IN (SELECT id FROM c)", 1),
        (f"UPDATE q SET state = 'claimed' FROM ({CHOICE}) c WHERE q.id = c.id", 10),
        (f"WITH c AS ({CHOICE}) UPDATE q SET state = 'claimed' FROM c WHERE q.id = c.id", 1),
        (f"DELETE FROM q USING ({CHOICE}) c WHERE q.id = c.id", 10),
        (f"MERGE INTO q USING ({CHOICE}) c ON q.id = c.id WHEN MATCHED THEN UPDATE SET state = 'claimed'", 10),
        (f"SELECT q.id FROM q JOIN ({CHOICE}) c ON q.id = c.id", 1),
        (f"SELECT id FROM ({CHOICE}) c", 1),
    ],
)
def test_how_many_rows_a_claim_of_one_takes(database: Database, claim: str, rows: int) -> None:
    """Statistics were made when the table had one row; nine more came."""
    with psycopg.connect(database.conninfo("claim"), autocommit=True) as session:
        session.execute("CREATE TABLE q (id int PRIMARY KEY, state text); INSERT INTO q VALUES (1, 'ready'); ANALYZE q")
        session.execute("INSERT INTO q SELECT n, 'ready' FROM generate_series(2, 10) n")
        assert session.execute(claim.encode()).rowcount == rows


UNLOCKED = "SELECT id FROM q WHERE state = 'ready' ORDER BY id LIMIT 1"


@pytest.mark.parametrize(
    ("claim", "second"),
    [
        (f"{UPDATE} id = ({UNLOCKED}) RETURNING id", ["1"]),  # claim-reads-unlocked
        (f"{UPDATE} id = ({UNLOCKED}) AND state = 'ready' RETURNING id", []),  # claim-may-come-back-empty
        (f"{UPDATE} id = ({UNLOCKED} FOR UPDATE) RETURNING id", ["2"]),  # claim-waits
    ],
)
def test_what_a_claim_that_has_waited_returns(database: Database, claim: str, second: list[str]) -> None:
    """The first one took job 1 of ten and commits while the second waits."""
    with (
        psycopg.connect(database.conninfo("first")) as first,
        psycopg.connect(database.conninfo("second"), autocommit=True) as waiting,
        psycopg.connect(database.conninfo("look"), autocommit=True) as look,
    ):
        look.execute("CREATE TABLE q (id int PRIMARY KEY, state text)")
        look.execute("INSERT INTO q SELECT n, 'ready' FROM generate_series(1, 10) n")
        assert first.execute(claim.encode()).fetchall() == [(1,)]
        waiting.pgconn.send_query(claim.encode())
        while not look.execute("SELECT 1 WHERE pg_blocking_pids(%s) <> '{}'", [waiting.info.backend_pid]).fetchall():
            waiting.pgconn.consume_input()
            assert waiting.pgconn.is_busy(), "it did not wait"
        first.commit()
        result = waiting.pgconn.get_result()
        assert result is not None
        assert waiting.pgconn.get_result() is None
        assert [(result.get_value(row, 0) or b"").decode() for row in range(result.ntuples)] == second
