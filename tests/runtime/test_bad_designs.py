"""SQL that the server refuses is told with file and line before any actor starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from simrunner.config import load_design, load_workload
from simrunner.errors import DesignError, ServerError
from simrunner.runtime import libpq, setup
from simrunner.runtime.coordinator import Watcher, execute
from simrunner.runtime.database import Database
from simrunner.store.folder import FAILED
from tests.runtime.runs import ROOT, design_folder, new_folder, nobody, request, run


def changed(operation: str, *changes: tuple[str, str]) -> dict[str, str]:
    """The reference's file of an operation, with texts replaced."""
    text = (ROOT / f"sql/reference/{operation}.sql").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return {operation: text}


BAD = {
    "a column that does not exist": (
        changed("claim", ("priority DESC", "urgency DESC")),
        r"claim\.sql:8: .*column \"urgency\" does not exist \(SQLSTATE 42703\)",
    ),
    "a syntax error": (changed("complete", ("RETURNING", "RETURN")), r"complete\.sql:\d+: .*syntax error at or near \"RETURN\""),
    "a column that results need": (
        changed("claim", (", job.claim_token, job.lease_until", ", job.lease_until")),
        r"claim\.sql:\d+: returns id, .* maps a result to claim_token",
    ),
    "a column that jobs.sql lacks": (changed("jobs", ("       lease_until,\n", "")), r"jobs\.sql:1: lacks lease_until"),
    "an order column that jobs.sql lacks": (changed("jobs", ("       priority,\n", "")), r"jobs\.sql:1: lacks priority"),
    "a state that is not mapped": (
        changed("jobs", ("       state,", "       upper(state) AS state,")),
        r"jobs\.sql:1: returned the state 'READY'; map it to one of ready, claimed",
    ),
    "a schema that fails": (
        {"schema": "CREATE TABLE one (id int);\nCREATE TABLE one (id int)"},
        r"schema\.sql:2: .*already exists",
    ),
    "a seed that violates the schema": (
        changed("seed", ("'ready'", "'waiting'")),
        r"seed\.sql:\d+: .*violates check constraint",
    ),
    "eligible without the table": (
        {"eligible": "SELECT id AS job FROM no_jobs WHERE available_at <= :'as_of'"},
        r"eligible\.sql:1: .*relation \"no_jobs\" does not exist",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_it_is_refused_before_any_actor_starts(database: Database, tmp_path: Path, what: str) -> None:
    files, message = BAD[what]
    started: list[object] = []
    wanted = request("smoke", design_folder(tmp_path, files))
    with new_folder(tmp_path, wanted) as folder:
        with pytest.raises(DesignError, match=message) as caught:
            execute(wanted, folder, database, Watcher(started.append, nobody, nobody))
        assert started == []
        assert folder.status() == FAILED
        assert folder.run()["error"] == str(caught.value)


def test_no_backlog_file(database: Database, tmp_path: Path) -> None:
    folder = design_folder(tmp_path, {}, 'removes = ["backlog"]\n')
    with pytest.raises(DesignError, match=r"has no backlog\.sql"):
        run(database, tmp_path, request("smoke", folder, settings={"backlog": "5"}))


def test_a_state_that_only_a_run_reaches(database: Database, tmp_path: Path) -> None:
    """No fixture shows it: the run fails at the step that brings the job there."""
    files = changed("jobs", ("       state,", "       replace(state, 'done', 'finished') AS state,"))
    with pytest.raises(DesignError, match=r"jobs\.sql:1: returned the state 'finished'"):
        run(database, tmp_path, request("smoke", design_folder(tmp_path, files)))


def test_a_good_design_is_not(database: Database, tmp_path: Path) -> None:
    """The copies above are refused for what was changed in them, not for being copies."""
    files = changed("claim", ("now()", "CURRENT_TIMESTAMP"))
    assert run(database, tmp_path, request("smoke", design_folder(tmp_path, files))).verdict().root_cause is None


def test_a_server_that_ends_meanwhile_is_no_mistake_of_the_design(database: Database) -> None:
    session = libpq.connect(database.conninfo("test"))
    libpq.run(session, "SELECT pg_terminate_backend(pg_backend_pid())")
    with pytest.raises(ServerError, match=r"while running seed\.sql"):
        setup.fill(session, load_design("reference"), load_workload("smoke", {}))
    session.finish()
