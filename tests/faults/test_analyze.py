"""ANALYZE at a moment that nobody chooses: the planner believes in a table of one row."""

from __future__ import annotations

from pathlib import Path

from simrunner.runtime import libpq
from simrunner.runtime.database import Database
from tests.faults.repeats import histories, repeated, root_causes
from tests.runtime.runs import request, run

WORKLOAD = "single-row-statistics"


def test_ten_runs_are_one_history_and_the_reference_takes_its_batch(database: Database) -> None:
    """Statistics of one run must not reach the next: then the first would differ."""
    runs = repeated(database, WORKLOAD)
    assert len(histories(runs)) == 1
    assert root_causes(runs) == {None}


def test_a_sub_query_behind_in_takes_more_than_its_batch_each_time(database: Database) -> None:
    runs = repeated(database, WORKLOAD, "mutants/in-claim", times=3)
    assert len(histories(runs)) == 1
    assert root_causes(runs) == {"claim-batch-bound"}


def test_without_the_statistics_it_takes_its_batch(database: Database) -> None:
    """The fault is what makes it fail: placed in a round that never comes, all is well."""
    assert root_causes(repeated(database, WORKLOAD, "mutants/in-claim", times=1, settings={"faults.0.round": "99"})) == {None}


def test_the_catalog_has_the_statistics_of_one_row(database: Database, tmp_path: Path) -> None:
    done = run(database, tmp_path, request(WORKLOAD))
    assert [(event.value, event.actor, event.round) for event in done.of("fault")] == [("analyze-at", "observer", 1)]
    connection = libpq.connect(database.conninfo("look"))
    rows = libpq.run(
        connection,
        "SELECT c.reltuples, count(s.*) > 0 FROM pg_class c JOIN pg_statistic s ON s.starelid = c.oid"
        " WHERE c.relname = 'queue_jobs' GROUP BY 1",
    ).rows
    connection.finish()
    assert rows == [("1", "t")]
