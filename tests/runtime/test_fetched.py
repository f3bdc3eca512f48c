"""What is counted of a claim is what the server fetched of the design's tables and indexes, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg.pq.abc import PGconn

from simrunner.model.verdict import Verdict
from simrunner.runtime import libpq
from simrunner.runtime.database import Database
from simrunner.runtime.fetched import buffers_fetched
from tests.runtime.runs import Run, design_folder, request, run


@pytest.fixture
def connection(database: Database) -> Iterator[PGconn]:
    connection = libpq.connect(database.conninfo("test"))
    tell(connection, "CREATE TABLE jobs (id bigint PRIMARY KEY, note text STORAGE EXTERNAL)")
    tell(connection, "CREATE SCHEMA other; CREATE TABLE other.noise AS SELECT n FROM generate_series(1, 5000) n")
    tell(connection, "INSERT INTO jobs SELECT n, repeat('x', 100) FROM generate_series(1, 1000) n")
    tell(connection, "VACUUM jobs, other.noise")
    yield connection
    connection.finish()


def tell(connection: PGconn, sql: str) -> list[tuple[str | None, ...]]:
    return libpq.expect(libpq.run(connection, sql), sql).rows


def fetched(connection: PGconn, sql: str) -> int:
    """What a statement fetches once the session knows the table."""
    tell(connection, f"BEGIN; {sql}; COMMIT; BEGIN")
    before = buffers_fetched(connection)
    tell(connection, sql)
    after = buffers_fetched(connection)
    tell(connection, "COMMIT")
    assert before is not None
    assert after is not None
    return after - before


def test_every_page_of_a_scan(connection: PGconn) -> None:
    [(pages,)] = tell(connection, "SELECT pg_relation_size('jobs') / current_setting('block_size')::int")
    assert fetched(connection, "SELECT count(note) FROM jobs") == int(pages or 0) > 10


def test_index_and_table_of_a_look_up(connection: PGconn) -> None:
    """Its root, its leaf, and one page of the table."""
    assert fetched(connection, "SELECT note FROM jobs WHERE id = 500") == 3


def test_nothing_of_other_schemas_and_the_catalog(connection: PGconn) -> None:
    assert fetched(connection, "SELECT count(*) FROM other.noise, pg_class") == 0


def test_what_lies_apart_from_its_row(connection: PGconn) -> None:
    short = fetched(connection, "SELECT length(note || '') FROM jobs WHERE id = 500")
    tell(connection, "UPDATE jobs SET note = repeat('x', 100000) WHERE id = 500")
    assert fetched(connection, "SELECT length(note || '') FROM jobs WHERE id = 500") > short + 100_000 // 8192


def test_a_server_that_does_not_count_says_so(connection: PGconn) -> None:
    tell(connection, "SET track_counts = off")
    assert buffers_fetched(connection) is None


def costs(done: Run) -> list[str | None]:
    return [event.value for event in done.of("report", operation="claim")]


SHORT = {"safety.rounds": "4", "faults.0.round": "2", "faults.0.rounds": "2"}


def test_only_where_that_is_judged(database: Database, tmp_path: Path) -> None:
    assert costs(run(database, tmp_path, request("smoke"))) == []


def test_each_claim_that_was_sent_has_its_count(database: Database, tmp_path: Path) -> None:
    done = run(database, tmp_path, request("held-snapshot", "variants/low-water", settings=SHORT))
    answered = done.of("ok", operation="claim", value="1")
    assert len(costs(done)) == len(answered) > 16
    look = libpq.connect(database.conninfo("look"))
    assert tell(look, "SELECT DISTINCT length(payload) FROM queue_jobs WHERE id > 24") == [(str(done.workload.payload_bytes),)]
    look.finish()
    assert {int(cost or 0) for cost in costs(done)} < set(range(5, 40))


@pytest.mark.parametrize("toml", ['autocommit = ["claim"]\n', 'isolation = "repeatable read"\n'])
def test_a_claim_that_cannot_be_counted_is_unknown(database: Database, tmp_path: Path, toml: str) -> None:
    """Neither is it passed nor does it cost the run its other verdicts."""
    design = design_folder(tmp_path, {}, toml, "variants/low-water")
    done = run(database, tmp_path, request("held-snapshot", design, settings=SHORT))
    assert set(costs(done)) == {None}
    verdict = done.verdict()
    [row] = [row for row in verdict.invariants if row.name == "bounded-claim-cost"]
    assert (row.verdict, verdict.verdict) == (Verdict.UNKNOWN, Verdict.UNKNOWN)
    assert "did not count" in (row.error or "")
