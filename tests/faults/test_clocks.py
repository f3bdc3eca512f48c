"""Clocks that are wrong: of one worker, and of the database."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from simrunner.runtime import libpq
from simrunner.runtime.database import Database
from tests.faults.repeats import histories, repeated, root_causes
from tests.runtime.runs import request, run


@pytest.mark.parametrize("workload", ["skewed-clock", "jumping-clock"])
def test_ten_runs_are_one_history_and_the_reference_keeps_its_promises(database: Database, workload: str) -> None:
    runs = repeated(database, workload)
    assert len(histories(runs)) == 1
    assert root_causes(runs) == {None}


@pytest.mark.parametrize(
    ("workload", "design", "root_cause"),
    [
        ("skewed-clock", "mutants/client-clock-lease", "lease-clock"),
        ("jumping-clock", "mutants/unfenced-completion", "fenced-writes"),
    ],
)
def test_what_a_design_makes_of_it(database: Database, workload: str, design: str, root_cause: str) -> None:
    runs = repeated(database, workload, design, times=1)
    assert len(histories(runs)) == 1
    assert root_causes(runs) == {root_cause}


def test_the_stored_lease_is_wrong_by_the_skew(database: Database, tmp_path: Path) -> None:
    """Seen in the rows that the database keeps: the audit trail of the design has its own claim time and the stored lease."""
    one = run(database, tmp_path, request("skewed-clock", "mutants/client-clock-lease"))
    struck = {(fault.actor, fault.value): fault.seq for fault in one.of("fault")}
    connection = libpq.connect(database.conninfo("look"))
    rows = libpq.run(
        connection,
        "SELECT claimed.worker_id, substring(ended.note from 'lease until ([^;]+)')::timestamptz - claimed.event_at"
        " FROM job_events claimed JOIN job_events ended USING (job_id, claim_token)"
        " WHERE claimed.to_state = 'claimed' AND ended.from_state = 'claimed' AND ended.note LIKE 'lease until%'",
    ).rows
    connection.finish()
    lengths: dict[str, set[int]] = {actor: set() for actor in ("worker-a", "worker-b", "worker-c")}
    for worker, length in rows:
        hours, minutes, seconds = (length or "").lstrip("-").split(":")
        size = timedelta(hours=int(hours), minutes=int(minutes), seconds=float(seconds)).total_seconds()
        lengths[(worker or "").partition(".")[0]].add(round(-size if (length or "").startswith("-") else size))
    assert struck[("worker-a", "clock-skew")] < struck[("worker-a", "end of clock-skew")]
    assert lengths == {"worker-a": {15, -5}, "worker-b": {15, 75}, "worker-c": {15}}


def test_the_database_itself_tells_the_time_after_the_jump(database: Database, tmp_path: Path) -> None:
    """Its own audit trail, stamped by now(), goes forward by the jumps, and back."""
    one = run(database, tmp_path, request("jumping-clock"))
    jumps = [int(event.value or 0) for event in one.of("clock") if event.value not in ("5000",)]
    assert sorted(jumps) == [-3000, *[20000] * 20]
    connection = libpq.connect(database.conninfo("look"))
    rows = libpq.run(connection, "SELECT extract(epoch FROM event_at) FROM job_events ORDER BY event_id").rows
    connection.finish()
    times = [float(row[0] or 0) for row in rows]
    steps = [after - before for before, after in pairwise(times)]
    assert min(steps) < -2
    assert max(steps) > 14
