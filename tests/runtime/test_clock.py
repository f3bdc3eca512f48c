"""The virtual clock as SQL sees it."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from simrunner.runtime import clock, libpq
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.database import Database, create
from simrunner.runtime.server import embedded

NOON_US = 1_790_078_400_000_001
NOON = "2026-09-22 12:00:00.000001+00"
LATER = "2026-09-22 12:00:01.000001+00"

Connection = psycopg.Connection[tuple[object, ...]]


def texts(connection: Connection, query: str) -> list[str]:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return [str(value) for value in row]


@pytest.fixture
def session(database: Database) -> Iterator[Connection]:
    with psycopg.connect(database.conninfo("worker-a.1"), autocommit=True) as connection:
        connection.execute(clock.set_transaction_time(NOON_US).encode())
        yield connection


def test_literal_is_exact() -> None:
    assert clock.literal(NOON_US) == NOON.replace("+00", "+00:00")
    assert clock.literal(0) == "1970-01-01 00:00:00.000000+00:00"


@pytest.mark.parametrize(
    "call",
    [
        "now()",
        "pg_catalog.now()",
        "transaction_timestamp()",
        "statement_timestamp()",
        "clock_timestamp()",
        "pg_catalog.clock_timestamp()",
    ],
)
def test_every_function_tells_the_virtual_time(session: Connection, call: str) -> None:
    assert texts(session, f"SELECT {call}::text") == [NOON]


def test_time_in_words_and_age(session: Connection) -> None:
    assert texts(session, "SELECT timeofday()") == ["Tue Sep 22 12:00:00.000001 2026 UTC"]
    ages = "age(timestamptz '2026-09-01 00:00+00')::text, age(timestamp '2026-09-01')::text"
    assert texts(session, f"SELECT {ages}") == ["21 days", "21 days"]


def test_sleeping_until_a_virtual_moment_that_has_come_returns(session: Connection) -> None:
    session.execute("SET statement_timeout = '5s'")
    assert texts(session, "SELECT count(*) FROM pg_sleep_until(now())") == ["1"]


def test_volatility_is_that_of_the_originals(session: Connection) -> None:
    rows = session.execute("""
        SELECT virtual.proname, virtual.provolatile, real.provolatile FROM pg_proc virtual
        JOIN pg_proc real ON real.proname = 'simrunner_real_' || virtual.proname AND real.pronargs = virtual.pronargs
        WHERE virtual.pronamespace = 'pg_catalog'::regnamespace
    """).fetchall()
    assert len(rows) >= 8
    assert [row for row in rows if row[1] != row[2]] == []


def test_defaults_triggers_and_functions_with_a_search_path_of_their_own(session: Connection) -> None:
    session.execute("""
        CREATE TABLE jobs (id int, made_at timestamptz DEFAULT now(), seen_at timestamptz);
        CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS
            $$ BEGIN NEW.seen_at := now(); RETURN NEW; END $$;
        CREATE TRIGGER stamp BEFORE INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION stamp();
        INSERT INTO jobs VALUES (1);
    """)
    assert texts(session, "SELECT made_at::text, seen_at::text FROM jobs") == [NOON, NOON]


def test_now_stands_still_in_a_transaction_and_statement_time_moves(session: Connection) -> None:
    session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    session.execute(clock.set_statement_time(NOON_US + 1_000_000).encode())
    assert texts(session, "SELECT now()::text, statement_timestamp()::text, clock_timestamp()::text") == [NOON, LATER, LATER]
    session.execute("COMMIT")


def test_setting_the_clock_takes_no_snapshot(session: Connection, database: Database) -> None:
    session.execute("CREATE TABLE jobs (id int)")
    session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    session.execute(clock.set_statement_time(NOON_US).encode())
    with psycopg.connect(database.conninfo("worker-b.1")) as other:
        other.execute("INSERT INTO jobs VALUES (1)")
    assert texts(session, "SELECT count(*) FROM jobs") == ["1"]
    session.execute("ROLLBACK")


def test_a_rollback_keeps_the_time_set_before_the_transaction(session: Connection) -> None:
    session.execute("BEGIN")
    session.execute("SET simrunner.txn_time = '2000-01-01 00:00+00'")
    session.execute("ROLLBACK")
    assert texts(session, "SELECT now()::text") == [NOON]


def test_a_session_without_the_clock_reads_the_real_one(session: Connection) -> None:
    session.execute("RESET ALL")
    assert (
        texts(session, "SELECT now() = simrunner_real_now(), clock_timestamp() <= simrunner_real_clock_timestamp()")
        == ["True"] * 2
    )


@pytest.mark.parametrize("session_settings", ["DateStyle = 'SQL, DMY'", "TimeZone = 'Asia/Kathmandu'"])
def test_the_clock_means_the_same_under_other_settings(session: Connection, session_settings: str) -> None:
    session.execute(f"SET {session_settings}".encode())
    assert texts(session, f"SELECT now() = timestamptz '{NOON}'") == ["True"]


def test_a_claim_is_planned_as_with_the_real_clock(session: Connection) -> None:
    session.execute(f"""
        CREATE TABLE jobs (id bigint PRIMARY KEY, priority int, state text, available_at timestamptz);
        INSERT INTO jobs SELECT i, i % 10, 'ready', timestamptz '{NOON}' + (i - 99990) * interval '1 s'
            FROM generate_series(1, 100000) i;
        CREATE INDEX jobs_order ON jobs (priority DESC, available_at, id) WHERE state = 'ready';
        CREATE INDEX jobs_due ON jobs (available_at) WHERE state = 'ready';
        ANALYZE jobs;
    """)
    claim = "SELECT id FROM jobs WHERE state = 'ready' AND available_at <= now() ORDER BY priority DESC, available_at, id"
    assert "Index Scan using jobs_order" in plan_of(session, claim + " LIMIT 1 FOR UPDATE SKIP LOCKED")
    # ten rows are due later than now(): the estimate must know the virtual time
    future = plan_of(session, "SELECT * FROM jobs WHERE state = 'ready' AND available_at > now() - interval '1 s'")
    assert "Index Scan using jobs_due" in future


def plan_of(session: Connection, query: str) -> str:
    return "\n".join(str(row[0]) for row in session.execute(f"EXPLAIN {query}".encode()))


RANDOM = "SELECT random()::text, gen_random_uuid()::text, uuidv4()::text, uuidv7()::text, random(1, 1000)::text"


def test_a_seed_fixes_random_values_and_identifiers(database: Database) -> None:
    assert drawn(database, 0.25) == drawn(database, 0.25)
    assert all(one != other for one, other in zip(drawn(database, 0.25), drawn(database, 0.5), strict=True))


def drawn(database: Database, seed: float) -> list[str]:
    with psycopg.connect(database.conninfo("worker-a.1"), autocommit=True) as connection:
        connection.execute(clock.set_transaction_time(NOON_US).encode())
        connection.execute(clock.set_seed(seed).encode())
        return texts(connection, RANDOM)


def test_identifiers_have_their_versions_and_ascend(session: Connection) -> None:
    session.execute("CREATE TABLE ids AS SELECT i, uuidv7() AS id, gen_random_uuid() AS four FROM generate_series(1, 5000) i")
    assert texts(session, "SELECT count(DISTINCT id), count(DISTINCT four) FROM ids") == ["5000", "5000"]
    assert texts(session, "SELECT bool_and(uuid_extract_version(id) = 7 AND uuid_extract_version(four) = 4) FROM ids") == ["True"]
    order = "SELECT bool_and(id > before) FROM (SELECT id, lag(id) OVER (ORDER BY i) AS before FROM ids) pairs"
    assert texts(session, order) == ["True"]
    assert texts(session, "SELECT min(uuid_extract_timestamp(id))::text FROM ids") == ["2026-09-22 12:00:00+00"]
    assert texts(session, "SELECT uuid_extract_timestamp(uuidv7('1 day')) > now() + interval '1 day'") == ["True"]


def test_the_clock_in_postgresql_16() -> None:
    with embedded(16) as old, create(old, "old") as database:
        connection = libpq.connect(database.conninfo("worker-a.1"))
        libpq.expect(libpq.run(connection, clock.set_transaction_time(NOON_US)), "setting the clock")
        libpq.expect(libpq.run(connection, clock.set_seed(0.5)), "setting the seed")
        rows = libpq.run(connection, "SELECT now(), clock_timestamp(), gen_random_uuid()").rows
        connection.finish()
    assert rows == [(NOON, NOON, "c3c51799-093f-4054-85ec-76a7ad17a600")]


def test_the_clock_in_a_schema(cluster: Cluster) -> None:
    with psycopg.connect(cluster.conninfo("postgres"), autocommit=True) as connection:
        connection.execute("BEGIN")
        connection.execute(clock.install_sql(cluster.major, in_catalog=False).encode())
        connection.execute(clock.set_transaction_time(NOON_US).encode())
        assert texts(connection, "SELECT now()::text, clock_timestamp()::text, uuidv7()::text < uuidv7()::text") == [
            NOON,
            NOON,
            "True",
        ]
        assert texts(connection, "SELECT pg_catalog.now() > now() OR pg_catalog.now() < now()") == ["True"]
        connection.execute("ROLLBACK")
