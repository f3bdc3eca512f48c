"""Run folders: names, links, lock, status, and errors that name what is wrong."""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from simrunner.errors import RecordingFailed, RunFolderError
from simrunner.store.folder import RUN_SCHEMA, RunFolder

NOON = datetime(2026, 9, 22, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[RunFolder]:
    with RunFolder.create(tmp_path, "high-depth", "mutants/no-recovery", 7, NOON) as created:
        yield created


def test_name_says_when_what_and_seed(folder: RunFolder, tmp_path: Path) -> None:
    assert folder.path == tmp_path / "high-depth" / "20260922T120000Z-mutants-no-recovery-s7"


def test_name_is_in_utc(tmp_path: Path) -> None:
    local = NOON.astimezone(timezone(timedelta(hours=3)))
    with RunFolder.create(tmp_path, "w", "reference", 1, local) as created:
        assert created.path.name == "20260922T120000Z-reference-s1"


def test_two_runs_of_the_same_second_get_their_own_folders(folder: RunFolder, tmp_path: Path) -> None:
    with RunFolder.create(tmp_path, "high-depth", "mutants/no-recovery", 7, NOON) as second:
        assert second.path.name == folder.path.name + "-2"
        assert second.status() == folder.status() == "running"


def test_latest_links_are_relative_and_follow_the_newest_run(folder: RunFolder, tmp_path: Path) -> None:
    assert RunFolder.open(tmp_path / "latest").path == folder.path
    with RunFolder.create(tmp_path, "basic", "reference", 1, NOON) as second:
        assert RunFolder.open(tmp_path / "latest").path == second.path
        assert RunFolder.open(tmp_path / "basic" / "latest").path == second.path
    assert RunFolder.open(tmp_path / "high-depth" / "latest").path == folder.path
    moved = tmp_path.rename(tmp_path.with_name("moved results"))
    assert RunFolder.open(moved / "latest").path == moved / "basic" / second.path.name


def test_nothing_but_the_run_and_the_links_is_left(folder: RunFolder, tmp_path: Path) -> None:
    assert sorted(path.name for path in tmp_path.iterdir()) == ["high-depth", "latest"]
    assert sorted(path.name for path in folder.path.parent.iterdir()) == [folder.path.name, "latest"]


def test_a_part_of_a_run_has_its_own_place_and_no_links(folder: RunFolder, tmp_path: Path) -> None:
    path = folder.path / "experiments" / "basic"
    with RunFolder.create_part(path, "basic", "reference", 1, NOON) as part:
        assert (part.path, part.status()) == (path, "running")
        assert (path / "events" / "journal").exists()
    assert [each.name for each in path.parent.iterdir()] == ["basic"]
    assert RunFolder.open(tmp_path / "latest").path == folder.path


def test_a_part_never_takes_the_place_of_another(folder: RunFolder) -> None:
    path = folder.path / "experiments" / "basic"
    RunFolder.create_part(path, "basic", "reference", 1, NOON).close()
    with pytest.raises(RecordingFailed):
        RunFolder.create_part(path, "basic", "reference", 1, NOON)


def test_a_run_of_runs_has_no_events_of_its_own(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path, "accept", "reference", 1, NOON, records=False) as folder:
        assert sorted(path.name for path in folder.path.iterdir()) == ["run.json", "run.lock"]


def test_status_running_complete_failed(folder: RunFolder) -> None:
    assert RunFolder.open(folder.path).status() == folder.status() == "running"
    folder.update_run(status="failed")
    assert folder.status() == "failed"
    folder.update_run(status="complete")
    folder.close()
    assert RunFolder.open(folder.path).status() == "complete"


def test_a_closed_run_that_did_not_end_is_interrupted(folder: RunFolder) -> None:
    folder.close()
    assert folder.status() == "interrupted"


_COORDINATOR = """
import os, sys; from datetime import datetime, UTC; from pathlib import Path
from simrunner.store.folder import RunFolder
folder = RunFolder.create(Path(sys.argv[1]), "w", "d", 1, datetime(2026, 1, 1, tzinfo=UTC))
if sys.argv[2] != "alone" and os.fork() == 0:
    if sys.argv[2] == "closes":
        os.close(folder.fileno())
    os.write(1, b"worker")
    os.read(0, 1)
    os._exit(0)
if sys.argv[2] == "alone":
    os.write(1, b"ready")
os.read(0, 1)
"""


@pytest.mark.parametrize(("worker", "status"), [("alone", "interrupted"), ("closes", "interrupted"), ("keeps", "running")])
def test_a_killed_coordinator_leaves_an_interrupted_run(tmp_path: Path, worker: str, status: str) -> None:
    """Unless a forked worker outlives it and kept the lock's descriptor open."""
    command = [sys.executable, "-c", _COORDINATOR, str(tmp_path), worker]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdout is not None
        assert process.stdout.read(10) in (b"ready", b"worker")
        opened = RunFolder.open(tmp_path / "latest")
        assert opened.status() == "running"
        process.kill()
        process.wait()
        assert opened.status() == status


def test_update_run_keeps_the_other_keys(folder: RunFolder) -> None:
    folder.update_run(mode="stepped")
    run = folder.run()
    assert (run["schema"], run["design"], run["seed"], run["mode"]) == (RUN_SCHEMA, "mutants/no-recovery", 7, "stepped")


def test_a_reader_holds_no_lock(folder: RunFolder) -> None:
    with pytest.raises(ValueError, match="holds no lock"):
        RunFolder.open(folder.path).fileno()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "not a run folder"),
        ("", "truncated"),
        ('{"schema": 1, "stat', "truncated"),
        ("\x00\x01", "truncated"),
        ("[1]", "no schema number"),
        ('{"status": "complete"}', "no schema number"),
        ('{"schema": 999}', "newer simrunner"),
    ],
)
def test_what_is_not_our_run_is_refused(tmp_path: Path, content: str | None, complaint: str) -> None:
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    with pytest.raises(RunFolderError, match=complaint) as caught:
        RunFolder.open(tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_missing_folders_and_dangling_links_are_refused(tmp_path: Path) -> None:
    (tmp_path / "latest").symlink_to("gone")
    for name in ("latest", "nowhere"):
        with pytest.raises(RunFolderError, match="no such run folder"):
            RunFolder.open(tmp_path / name)


def test_missing_json_is_named(folder: RunFolder) -> None:
    with pytest.raises(RunFolderError, match=r"verdict\.json"):
        folder.read_json("verdict.json")


def test_a_removed_folder_is_reported_with_advice(folder: RunFolder) -> None:
    folder.path.rename(folder.path.with_name("elsewhere"))
    with pytest.raises(RecordingFailed, match="was removed during the run"):
        folder.write_json("live.json", {})


def test_results_below_a_file_are_reported_with_advice(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordingFailed, match="choose another results folder"):
        RunFolder.create(tmp_path / "file", "w", "d", 1, NOON)


def test_a_failed_write_keeps_the_old_content(folder: RunFolder) -> None:
    folder.write_json("live.json", {"pid": 1})
    with pytest.raises(TypeError):
        folder.write_json("live.json", {"pid": object()})
    assert folder.read_json("live.json") == {"pid": 1}


def test_what_a_process_left_that_was_killed_while_it_made_a_folder(tmp_path: Path) -> None:
    """Drafts and links of the dead go with the next folder; those of the living stay."""
    dead, mine = f"{2**22 + 1}", f"{os.getpid()}"  # beyond the largest process id there can be
    names = [f"w/.new-{dead}-0", f"w/.new-{mine}-0", f"w/.latest.{dead}.tmp", f".latest.{dead}.tmp"]
    for name in names[:2]:
        (tmp_path / name).mkdir(parents=True)
    for name in names[2:]:
        (tmp_path / name).symlink_to("nowhere")
    locked = tmp_path / f"w/.new-{dead}-1"
    locked.mkdir()
    with (locked / "run.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        RunFolder.create(tmp_path, "w", "d", 1, NOON).close()
    assert [os.path.lexists(tmp_path / name) for name in names] == [False, True, False, False]
    assert locked.exists()


def test_a_folder_that_cannot_be_made_leaves_no_draft(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        RunFolder.create(tmp_path, "w", "d", 1, NOON, facts={"not": object()})
    assert list((tmp_path / "w").iterdir()) == []


def test_what_fixes_a_run_is_there_from_its_beginning(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path, "w", "d", 1, NOON, facts={"workload": "other", "mode": "stepped"}) as created:
        assert (created.run()["workload"], created.run()["mode"]) == ("other", "stepped")


def test_a_removed_folder_cannot_be_updated(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path, "w", "d", 1, NOON) as created:
        shutil.rmtree(created.path)
        with pytest.raises(RecordingFailed, match="was removed during the run"):
            created.update_run(status="failed")
        with pytest.raises(RecordingFailed, match="was removed during the run"):
            RunFolder.create_part(created.path / "experiments/one", "w", "d", 1, NOON)
