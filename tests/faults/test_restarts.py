"""Restarts: under the identity of the dead, and late."""

from __future__ import annotations

from pathlib import Path

import pytest

from simrunner.runtime import libpq
from simrunner.runtime.database import Database
from tests.faults.repeats import histories, repeated, root_causes
from tests.runtime.outside import Outside, is_there
from tests.runtime.runs import request, run


@pytest.mark.parametrize("workload", ["reused-identity", "late-recoverer"])
def test_ten_runs_are_one_history_and_the_reference_keeps_its_promises(database: Database, workload: str) -> None:
    runs = repeated(database, workload)
    assert len(histories(runs)) == 1
    assert root_causes(runs) == {None}


@pytest.mark.parametrize(
    ("workload", "design", "root_cause"),
    [
        ("reused-identity", "mutants/recovery-by-worker", "no-job-lost"),
        ("crash-after-commit", "mutants/recovery-by-worker", None),
        ("late-recoverer", "mutants/startup-sweep", "lease-honoured"),
    ],
)
def test_what_a_design_makes_of_it(database: Database, workload: str, design: str, root_cause: str | None) -> None:
    runs = repeated(database, workload, design, times=1)
    assert len(histories(runs)) == 1
    assert root_causes(runs) == {root_cause}


def test_the_database_knows_the_next_process_by_the_name_of_the_dead(database: Database, tmp_path: Path) -> None:
    done = run(database, tmp_path, request("reused-identity"))
    (fault,) = done.of("fault")
    (start,) = done.of("process-start", actor=fault.actor, incarnation=2)
    assert not is_there(fault.os_pid or 0)
    assert start.os_pid != fault.os_pid
    connection = libpq.connect(database.conninfo("look"))
    sql = (
        "SELECT DISTINCT worker_id, split_part(claim_token, '/', 1) FROM job_events"
        f" WHERE to_state = 'claimed' AND starts_with(claim_token, '{fault.actor}.') ORDER BY 2"
    )
    rows = libpq.run(connection, sql).rows
    connection.finish()
    assert rows == [(f"{fault.actor}.1", f"{fault.actor}.1"), (f"{fault.actor}.1", f"{fault.actor}.2")]


def test_an_actor_that_starts_late_is_not_there_before(database: Database, tmp_path: Path) -> None:
    """Seen in pg_stat_activity, from the fault in round 1 to the beginning of round 6."""
    there: dict[int, set[bool]] = {}

    def at(outside: Outside) -> bool:
        if outside.phase == "safety" and not outside.entered:
            there.setdefault(outside.round, set()).add(outside.backend("recoverer") is not None)
        return False

    outside = Outside(database, at)
    try:
        done = run(database, tmp_path, request("late-recoverer"), outside.watcher())
    finally:
        outside.close()
    assert [there[number] for number in range(2, 6)] == [{False}] * 4
    assert True in there[6]  # its session has its name once it was told what to do
    assert there[7] == there[8] == {True}
    assert [(event.round, event.incarnation) for event in done.of("process-start", actor="recoverer")] == [(1, 1), (6, 2)]
