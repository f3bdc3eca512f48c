"""Sealing: the same run before and after, at every crash point, and no damaged file goes unnoticed."""

import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simrunner.errors import RecordingFailed, RunFolderError
from simrunner.history.digest import history_sha256
from simrunner.limits import LIMITS
from simrunner.model.event import Event
from simrunner.store import seal as seal_module
from simrunner.store.folder import RunFolder
from simrunner.store.reader import read_history
from simrunner.store.seal import seal
from simrunner.store.tape import tape_of
from tests.store.folders import AUDIT, DECISIONS, DRAWS, EVENTS, JOBS, SETUP, recorded
from tests.store.synthetic import synthetic

SEALED = ["events/part-00000.parquet", "final/audit.parquet", "final/jobs.parquet", "names.json", "run.json", "run.lock"]
SEALED += ["seal.json", "tape.json"]


def files_of(folder: RunFolder) -> list[str]:
    return sorted(str(path.relative_to(folder.path)) for path in folder.path.rglob("*") if path.is_file())


def test_reads_the_same_before_and_after(tmp_path: Path) -> None:
    folder = recorded(tmp_path)
    before = read_history(folder)
    assert before.events == EVENTS
    assert before.final_jobs == tuple(JOBS)
    assert before.audit == tuple(AUDIT)
    seal(folder)
    assert read_history(folder) == before
    assert files_of(folder) == SEALED


def test_an_interrupted_run_is_sealed_without_final_rows(tmp_path: Path) -> None:
    folder = recorded(tmp_path, complete=False)
    with (folder.path / "events/journal").open("ab") as journal:
        journal.write(b'[121,"saf')
    seal(folder)
    assert read_history(folder)[0] == EVENTS
    assert read_history(folder)[2:] == (None, None)
    assert folder.status() == "interrupted"


def test_the_tape_is_made_from_the_journal(tmp_path: Path) -> None:
    folder = recorded(tmp_path, complete=False)
    before = tape_of(folder)
    assert (before.setup, before.decisions, before.draws) == (SETUP, DECISIONS, DRAWS)
    seal(folder)
    assert tape_of(folder) == before


def test_reading_changes_nothing(tmp_path: Path) -> None:
    folder = recorded(tmp_path)
    before = files_of(folder)
    read_history(folder)
    tape_of(folder)
    assert files_of(folder) == before


def test_a_folder_that_cannot_be_written_can_be_read(tmp_path: Path) -> None:
    folder = recorded(tmp_path)
    (folder.path / "names.json").mkdir()  # stands for any write that fails, also for root
    with pytest.raises(RecordingFailed, match=r"names\.json cannot be written"):
        seal(folder)
    assert read_history(folder).events == EVENTS


def test_a_run_before_its_first_event(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path, "w", "d", 1, datetime(2026, 1, 1, tzinfo=UTC)) as folder:
        assert read_history(folder).events == []
        seal(folder)
        assert read_history(folder).events == []


def test_a_running_run_is_not_sealed_by_others(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path, "w", "d", 1, datetime(2026, 1, 1, tzinfo=UTC)) as folder:
        with pytest.raises(RunFolderError, match="still running"):
            seal(RunFolder.open(folder.path))
        assert (folder.path / "events/journal").exists()


@pytest.mark.parametrize("rows", [1, 60, len(EVENTS) - 1, len(EVENTS), len(EVENTS) + 1])
@pytest.mark.parametrize("chunk", [7, 1000])
def test_parts_have_the_agreed_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, chunk: int) -> None:
    monkeypatch.setattr(seal_module, "LIMITS", replace(LIMITS, parquet_rows_per_part=rows))
    monkeypatch.setattr(seal_module, "_CHUNK_ROWS", chunk)
    folder = recorded(tmp_path)
    seal(folder)
    sizes = [len(pd.read_parquet(path)) for path in sorted((folder.path / "events").iterdir())]
    assert sizes == [rows] * (len(EVENTS) // rows) + ([len(EVENTS) % rows] if len(EVENTS) % rows else [])
    assert read_history(folder).events == EVENTS


def test_plain_pandas_reads_the_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seal_module, "LIMITS", replace(LIMITS, parquet_rows_per_part=50))
    folder = recorded(tmp_path)
    seal(folder)
    frame = pd.read_parquet(folder.path / "events")
    assert tuple(frame.columns) == Event._fields
    assert list(frame["seq"]) == list(range(1, len(EVENTS) + 1))
    assert list(frame["kind"]) == [event.kind for event in EVENTS]
    assert str(frame["txn_time"].dtype) == "datetime64[us, UTC]"
    claims = frame[(frame["kind"] == "transition") & (frame["to_state"] == "claimed")]
    assert sorted(claims["job"]) == [1, 2, 3, 4, 5]


def test_plain_pandas_reads_the_final_jobs(tmp_path: Path) -> None:
    folder = recorded(tmp_path)
    seal(folder)
    frame = pd.read_parquet(folder.path / "final/jobs.parquet")
    assert list(frame.columns[:3]) == ["job", "job_id", "key"]
    assert frame.loc[0, "state"] == "done"


def test_bytes_per_event_stay_small(tmp_path: Path) -> None:
    events = synthetic(800)
    folder = recorded(tmp_path, events)
    seal(folder)
    size = sum(path.stat().st_size for path in (folder.path / "events").iterdir())
    assert size / len(events) < 10


_CRASHER = """
import os, signal, sys
from pathlib import Path
from simrunner.store.folder import RunFolder
from simrunner.store.seal import seal
folder, steps = RunFolder.open(Path(sys.argv[1])), 0
for crash_at in range(1, 1000):
    child = os.fork()
    if child == 0:
        steps = 0
        def crash(event, arguments):
            global steps
            if event in ("open", "os.rename", "os.remove") and str(folder.path) in str(arguments[0]):
                steps += 1
                if steps == crash_at:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(crash)
        seal(folder)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    print("crashed" if os.WIFSIGNALED(status) else f"ended {os.waitstatus_to_exitcode(status)}", flush=True)
    sys.stdin.readline()
    if not os.WIFSIGNALED(status):
        break
"""


@pytest.mark.parametrize("again", ["each crash on a fresh run", "each crash on what the last one left"])
def test_a_crash_at_any_point_of_sealing_loses_nothing(tmp_path: Path, again: str) -> None:
    """A forked sealer gets SIGKILL before its n-th access to the folder, for every n until it gets through."""
    folder = recorded(tmp_path)
    fresh = {path: path.read_bytes() for path in folder.path.rglob("*") if path.is_file()}
    expected = read_history(folder)
    answers = []
    command = [sys.executable, "-c", _CRASHER, str(folder.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for answer in process.stdout:
            answers.append(answer.strip())
            assert read_history(RunFolder.open(folder.path)) == expected
            assert tape_of(folder).decisions == DECISIONS
            if again.endswith("fresh run") and answer.startswith("crashed"):
                for path, data in fresh.items():
                    path.write_bytes(data)
            process.stdin.write("\n")
    assert answers[-1] == "ended 0"
    assert len(answers) > 15
    assert not (folder.path / "events/journal").exists()
    assert read_history(folder) == expected


@settings(deadline=None, max_examples=60)
@given(place=st.integers(0, 10**9), bit=st.integers(0, 7), name=st.sampled_from(["events/part-00000.parquet", *SEALED[1:4]]))
def test_no_flipped_bit_goes_unnoticed(tmp_path_factory: pytest.TempPathFactory, place: int, bit: int, name: str) -> None:
    folder = recorded(tmp_path_factory.mktemp("flip"))
    seal(folder)
    data = bytearray((folder.path / name).read_bytes())
    data[place % len(data)] ^= 1 << bit
    (folder.path / name).write_bytes(data)
    with pytest.raises(RunFolderError, match=name.replace(".", r"\.")):
        read_history(folder)


@pytest.mark.parametrize("name", [name for name in SEALED if name.endswith((".parquet", "names.json", "seal.json"))])
def test_truncated_and_missing_files_are_named(tmp_path: Path, name: str) -> None:
    folder = recorded(tmp_path)
    seal(folder)
    path = folder.path / name
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(RunFolderError, match=name.replace(".", r"\.")):
        read_history(folder)
    path.unlink()
    with pytest.raises(RunFolderError, match=name.replace(".", r"\.")):
        read_history(folder)


def test_the_hash_survives_storing(tmp_path: Path) -> None:
    folder = recorded(tmp_path)
    seal(folder)
    assert history_sha256(read_history(folder).events) == history_sha256(EVENTS)


def test_unfinished_files_of_the_dead_go_when_a_run_is_sealed(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path, "w", "d", 1, datetime(2026, 1, 1, tzinfo=UTC)) as folder:
        dead = folder.path / f"events/.part-00000.parquet.{2**22 + 1}.tmp"
        living = folder.path / f".verdict.json.{os.getpid()}.tmp"
        dead.touch()
        living.touch()
        seal(folder)
        assert (dead.exists(), living.exists()) == (False, True)
