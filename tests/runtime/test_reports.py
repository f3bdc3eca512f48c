"""Reports of a script, what they see, and candidates at the time of the transaction that reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from simrunner.runtime.database import Database
from tests.runtime.runs import Run, request, run, script_file, workload_file


def numbers(done: Run) -> list[tuple[str | None, str | None]]:
    return [(event.to_state, event.value) for event in done.of("report")]


def test_a_report_tells_the_number_of_each_state(database: Database, tmp_path: Path) -> None:
    script = script_file(tmp_path, "a claim", "b report")
    done = run(database, tmp_path, request(script))
    assert numbers(done) == [("claimed", "1"), ("ready", "2")]


def test_the_first_thing_that_a_session_does_may_be_a_read(database: Database, tmp_path: Path) -> None:
    """Candidates are those of the transaction that reads them, not of the session's last one."""
    script = script_file(tmp_path, "a candidates", "b count")
    done = run(database, tmp_path, request(script))
    assert len(done.of("read", operation="candidates")) == 3
    assert numbers(done) == [(None, "3")]


@pytest.mark.parametrize(("level", "second"), [("read committed", "2"), ("repeatable read", "3"), ("serializable", "3")])
def test_the_recorded_snapshot_is_the_one_that_the_statement_had(
    database: Database, tmp_path: Path, level: str, second: str
) -> None:
    script = script_file(tmp_path, "a begin", "a count", "b claim", "a count", "a commit", "a count")
    text = script.read_text().replace("do = 'begin'", f"do = 'begin'\nisolation = '{level}'")
    script.write_text(text)
    done = run(database, tmp_path, request(script))
    assert [value for _, value in numbers(done)] == ["3", second, "2"]
    claim = done.of("transition", to_state="claimed")[0].seq
    before, between, after = (event.snapshot_seq or 0 for event in done.of("sent", operation="count", value="1"))
    assert before < claim == after
    assert between == (claim if level == "read committed" else before)


def test_a_transaction_that_reads_and_then_writes_is_named_after_what_it_writes(database: Database, tmp_path: Path) -> None:
    script = script_file(tmp_path, "a begin", "a count", "a claim", "a report", "a commit")
    done = run(database, tmp_path, request(script))
    assert [event.operation for event in done.of("transition")] == ["claim"]
    assert [event.operation for event in done.of("ok", value="COMMIT")] == ["claim"]


def test_a_plan_is_a_note_and_its_claim_is_rolled_back(database: Database, tmp_path: Path) -> None:
    more = "".join(f'[[script]]\nactor = "a"\n{step}\n' for step in STEPS)
    done = run(database, tmp_path, request(workload_file(tmp_path, "query-plans", more=more)))
    plans = [event.note or "" for event in done.of("report", operation="explain", actor="a")]
    assert "Update on" in plans[0]
    assert "actual" in plans[0]
    assert done.of("transition", to_state="claimed") == []


STEPS = ('do = "begin"', 'do = "explain"\nanalyze = true', 'do = "rollback"')
