"""Emptied by DELETE and VACUUM a database is as good as new, and where it is not, that is noticed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from psycopg.pq.abc import PGconn

from simrunner.runtime import libpq
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.database import Database, create
from simrunner.runtime.emptying import TRUNCATE_EVERY, Emptier
from simrunner.search.campaign import Campaign, request_of
from simrunner.search.coordinator import Theatre
from simrunner.search.sources import Seeded
from tests.faults.repeats import histories, repeated
from tests.runtime.test_determinism import ties

TABLE = "CREATE TABLE jobs (id bigint PRIMARY KEY, note text, n bigint GENERATED ALWAYS AS IDENTITY)"
FILES = "SELECT oid, relfilenode FROM pg_class WHERE relnamespace = 'design'::regnamespace ORDER BY oid"
PHYSICAL = """
SELECT relname, pg_relation_size(oid), relpages, reltuples, relallvisible FROM pg_class
 WHERE relnamespace = 'design'::regnamespace AND relkind IN ('r', 'i') ORDER BY relname
"""


@pytest.fixture
def connection(database: Database) -> Iterator[PGconn]:
    connection = libpq.connect(database.conninfo("test"))
    run(connection, "CREATE SCHEMA simrunner; CREATE TABLE simrunner.truth (seq bigint GENERATED ALWAYS AS IDENTITY)")
    yield connection
    connection.finish()


def run(connection: PGconn, sql: str) -> list[tuple[str | None, ...]]:
    return libpq.expect(libpq.run(connection, sql), sql).rows


def emptied(connection: PGconn, database: Database, fill: str, *, times: int = 3) -> list[bool]:
    """Fill and empty again and again. Returns for each time after the first whether the files stayed."""
    emptier, kept = Emptier(database), []
    for _ in range(times):
        run(connection, fill)
        before = run(connection, FILES)
        emptier.empty()
        assert run(connection, "SELECT count(*) FROM jobs") == [("0",)]
        kept.append(run(connection, FILES) == before)
    return kept[1:]


def test_it_is_as_a_new_one(connection: PGconn, database: Database) -> None:
    run(connection, TABLE)
    run(connection, "INSERT INTO jobs SELECT n, 'x' FROM generate_series(1, 20) n; ANALYZE jobs")
    fresh = "INSERT INTO jobs SELECT n, 'x' FROM generate_series(1, 3) n"
    emptier = Emptier(database)
    emptier.empty()
    run(connection, fresh)
    as_new = run(connection, PHYSICAL), run(connection, "SELECT ctid, id, n FROM jobs")
    run(connection, "UPDATE jobs SET note = 'y'; UPDATE jobs SET note = 'z' WHERE id = 2; ANALYZE jobs")
    emptier.empty()
    assert run(connection, "SELECT count(*) FROM pg_statistic WHERE starelid = 'jobs'::regclass") == [("0",)]
    run(connection, fresh)
    assert (run(connection, PHYSICAL), run(connection, "SELECT ctid, id, n FROM jobs")) == as_new


def test_small_tables_keep_their_files(connection: PGconn, database: Database) -> None:
    run(connection, TABLE)
    assert emptied(connection, database, "INSERT INTO jobs VALUES (1, 'x'), (2, 'y')") == [True, True]


def test_an_index_that_was_split_makes_new_files(connection: PGconn, database: Database) -> None:
    run(connection, TABLE)
    assert emptied(connection, database, "INSERT INTO jobs SELECT n, 'x' FROM generate_series(1, 2000) n") == [False, False]


@pytest.mark.parametrize(
    "more",
    [
        "CREATE INDEX ON jobs USING hash (note)",
        "CREATE SEQUENCE s CACHE 10",
        "CREATE TABLE p (id bigint) PARTITION BY LIST (id)",
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
        "CREATE TRIGGER t AFTER DELETE ON jobs EXECUTE FUNCTION f(); ALTER TABLE jobs ENABLE ALWAYS TRIGGER t",
    ],
)
def test_what_stands_in_the_way(connection: PGconn, database: Database, more: str) -> None:
    run(connection, f"{TABLE}; {more}")
    assert emptied(connection, database, "INSERT INTO jobs VALUES (1, 'x')") == [False, False]


def test_rows_that_refer_to_each_other_and_triggers(connection: PGconn, database: Database) -> None:
    """Neither a foreign key nor a trigger of the design is in the way, nor fires."""
    run(connection, f"{TABLE}; CREATE TABLE log (job bigint REFERENCES jobs)")
    run(connection, "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''fired''; END'")
    run(connection, "CREATE TRIGGER t AFTER DELETE ON jobs FOR EACH ROW EXECUTE FUNCTION f()")
    assert emptied(connection, database, "INSERT INTO jobs VALUES (1, 'x'); INSERT INTO log VALUES (1)") == [True, True]


def test_ties_fall_alike(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Without a tie-breaker the physical state decides who is claimed; so does the one that a schedule leaves."""
    wanted = ties(tmp_path_factory.mktemp("ties"))
    with create(cluster, "ties") as database:
        theatre = Theatre(database, wanted, 0)
        assert len({theatre.play(wanted, number).result.sha256 for number in range(60)}) == 1
        theatre.close()


def test_a_schedule_is_the_same_behind_any_other(cluster: Cluster) -> None:
    """On a stage that others have used, with kills and blocked statements, as on one of its own."""
    base = request_of(Campaign("smoke", "mutants/select-then-update"))
    source = Seeded(base, 1)
    numbers = [0, 2, 5, 9, 11]
    with create(cluster, "one") as database:
        theatre = Theatre(database, base, 1)
        together = [theatre.play(source.request(number), number).result.sha256 for number in numbers]
        theatre.close()
    alone = []
    for number in numbers:
        with create(cluster, "each") as database:
            theatre = Theatre(database, base, 1)
            alone.append(theatre.play(source.request(number), number).result.sha256)
            theatre.close()
    assert together == alone
    assert len(numbers) < TRUNCATE_EVERY


def test_dead_rows_are_left_while_everything_lies_in_one_page(connection: PGconn, database: Database) -> None:
    """Files and catalog stay as they are, rows lie in the order in which they were written, sequences begin anew."""
    run(connection, TABLE)
    emptier = Emptier(database)
    emptier.empty(fresh=False)
    catalog = "SELECT xmin, oid FROM pg_class WHERE relnamespace = 'design'::regnamespace ORDER BY oid"
    before = run(connection, catalog)
    for _ in range(5):
        run(connection, "INSERT INTO jobs SELECT n, 'x' FROM generate_series(1, 9) n; UPDATE jobs SET note = 'y' WHERE id = 1")
        assert run(connection, "SELECT id, n FROM jobs ORDER BY ctid")[-1] == ("1", "1")
        assert emptier.is_sure()
        emptier.empty(fresh=False)
        assert run(connection, "SELECT count(*) FROM jobs") == [("0",)]
    assert run(connection, catalog) == before
    emptier.close()


def test_what_went_beyond_one_page_is_not_sure(connection: PGconn, database: Database) -> None:
    """From then on the tables are fresh again before that can happen."""
    run(connection, TABLE)
    emptier = Emptier(database)
    emptier.empty(fresh=False)
    page = "INSERT INTO jobs SELECT n, repeat('x', 100) FROM generate_series(1, 20) n"
    sure = []
    for _ in range(9):
        run(connection, page)
        sure.append(emptier.is_sure())
        emptier.empty(fresh=not sure[-1])
        if not sure[-1]:
            emptier.empty(fresh=False)
    assert sure == [True, True, False, True, True, True, True, True, True]
    emptier.close()


def test_what_was_analyzed_is_not_sure(connection: PGconn, database: Database) -> None:
    """Statistics survive a DELETE, and with them another plan."""
    run(connection, TABLE)
    emptier = Emptier(database)
    for _ in range(2):
        emptier.empty(fresh=False)
        run(connection, "INSERT INTO jobs VALUES (1, 'x')")
    assert emptier.is_sure()
    run(connection, "ANALYZE jobs")
    assert not emptier.is_sure()
    emptier.close()


def test_an_old_snapshot_keeps_dead_rows_where_they_are(connection: PGconn, database: Database) -> None:
    """Without it a page that is nearly full is cleaned up when it is read, and new rows take the places of dead ones."""
    run(connection, TABLE)
    lightly, rows = Emptier(database), "SELECT n, repeat('x', 500) FROM generate_series(1, 3) n"
    lightly.empty(fresh=False)
    places = []
    for _ in range(3):
        run(connection, f"INSERT INTO jobs {rows}")
        places.append(run(connection, "SELECT min(ctid) FROM jobs")[0][0])
        run(connection, "UPDATE jobs SET note = note; SELECT count(*) FROM jobs")
        lightly.empty(fresh=False)
    assert places == ["(0,1)", "(0,7)", "(0,13)"]
    lightly.close()


def test_on_a_server_of_somebody_else_the_emptying_is_no_news_to_the_next_run(database: Database) -> None:
    """There a TRUNCATE is logged as every change is; the runs after the first are made in emptied tables."""
    elsewhere = replace(database, cluster=replace(database.cluster, embedded=False))
    runs = repeated(elsewhere, "smoke", times=3)
    assert len(histories(runs)) == 1
