"""Which failures mean a full disk below the server, and what is told then."""

from __future__ import annotations

from pathlib import Path

import pytest
from psycopg.conninfo import make_conninfo

from simrunner.errors import DesignError, ServerError
from simrunner.runtime import external, libpq
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.database import Database
from simrunner.runtime.shortage import explained, met_by, writing_below
from tests.runtime.runs import design_folder, request, run

FULL = "could not extend file"


def raising(sqlstate: str) -> str:
    """A statement of which the server says the same as of a full disk, but for the code if that is another."""
    return f"DO $$ BEGIN RAISE EXCEPTION '{FULL}' USING ERRCODE = '{sqlstate}'; END $$;\nSELECT 1 AS job_id;"


def test_a_file_that_finds_no_room_is_told_with_its_disk(tmp_path: Path) -> None:
    no_room = pytest.raises(ServerError, match=r"cannot be written: .*No space left on device")
    with no_room as told, explained(tmp_path), writing_below(tmp_path):
        Path("/dev/full").write_bytes(b"x")
    assert f"The disk of {tmp_path}, where the server's files are, is full" in told.value.in_full


def test_other_failures_are_left_as_they_are(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), explained(tmp_path), writing_below(tmp_path):
        (tmp_path / "none").read_bytes()
    with pytest.raises(ServerError) as told, explained(tmp_path):
        raise ServerError("PostgreSQL cannot be reached")
    assert told.value.in_full == "PostgreSQL cannot be reached"


def test_a_server_of_somebody_else_is_named(cluster: Cluster) -> None:
    dsn = make_conninfo("", **cluster.parameters)
    for words, notes in (("could not extend file: No space left on device", 1), ("PostgreSQL cannot be reached", 0)):
        with pytest.raises(ServerError) as told, external.connect(dsn):
            raise ServerError(words)
        where = "The disk of the server at user=postgres"
        assert [note.startswith(where) for note in getattr(told.value, "__notes__", ())] == [True] * notes


@pytest.mark.parametrize(("sqlstate", "met"), [("53100", True), ("53200", False), ("XX000", False)])
def test_the_code_says_it(database: Database, sqlstate: str, met: bool) -> None:
    connection = libpq.connect(database.conninfo("test"))
    assert met_by(libpq.run(connection, raising(sqlstate).partition("\n")[0])) == met
    connection.finish()


@pytest.mark.parametrize(("sqlstate", "error"), [("53100", ServerError), ("53200", DesignError)])
def test_a_fixture_that_meets_a_full_disk_is_no_mistake_of_the_design(
    database: Database, tmp_path: Path, sqlstate: str, error: type[Exception]
) -> None:
    folder = design_folder(tmp_path, {"seed": raising(sqlstate)})
    with pytest.raises(error, match=FULL):
        run(database, tmp_path, request("smoke", folder))


def test_a_step_that_meets_a_full_disk_ends_the_run(database: Database, tmp_path: Path) -> None:
    folder = design_folder(tmp_path, {"effect": raising("53100")})
    with pytest.raises(ServerError, match=r"while worker-. took its step effect:1: could not extend file"):
        run(database, tmp_path, request("smoke", folder))


def test_a_step_of_which_a_fault_says_so_does_not(database: Database, tmp_path: Path) -> None:
    settings = {"faults.0.sqlstate": "53100"}
    done = run(database, tmp_path, request("failing-statements", settings=settings))
    assert len(done.of("failed", sqlstate="53100")) == 1
