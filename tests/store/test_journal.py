"""The journal: round trips, torn tails, damage, full disks and killed writers."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simrunner.errors import RecordingFailed, RunFolderError
from simrunner.model.event import Event
from simrunner.model.tape import Decision, Draw
from simrunner.store.journal import Journal, Name, Recorded, read_journal, stream_journal
from tests.store.strategies import DECISION_LISTS, DRAWS, NAMES, histories
from tests.store.synthetic import chunks, synthetic


def written(path: Path, events: list[Event], size: int = 7) -> bytes:
    journal = Journal(path)
    for chunk in chunks(events, size):
        journal.append(chunk)
    journal.close()
    return path.read_bytes()


@settings(deadline=None)
@given(histories(), NAMES, DECISION_LISTS, DRAWS)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory,
    events: list[Event],
    names: list[Name],
    decisions: list[Decision],
    draws: list[Draw],
) -> None:
    path = tmp_path_factory.mktemp("journal") / "journal"
    journal = Journal(path)
    journal.append(events, names, decisions, draws)
    journal.close()
    recorded = Recorded()
    assert list(stream_journal(path, recorded)) == events
    assert (recorded.decisions, recorded.draws) == (decisions, draws)
    expected: dict[str, dict[int, str]] = {"job": {}, "token": {}, "key": {}}
    for kind, ordinal, text in names:
        expected[kind][ordinal] = text
    assert read_journal(path) == (events, expected)


def test_one_append_is_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    write = os.write

    def counted(descriptor: int, data: bytes) -> int:
        sizes.append(len(data))
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", counted)
    journal = Journal(tmp_path / "journal")
    journal.append(synthetic(2), [("job", 1, "1")], [Decision("step", "worker-a", "claim:1")], [Draw("pct", 4, 2)])
    journal.append([])
    journal.close()
    assert sizes == [(tmp_path / "journal").stat().st_size]


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:100]))
    events = synthetic(2)
    written(tmp_path / "journal", events)
    assert read_journal(tmp_path / "journal")[0] == events


@settings(deadline=None)
@given(cut=st.integers(0, 10**9))
def test_a_torn_tail_loses_only_the_torn_line(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    path = tmp_path_factory.mktemp("journal") / "journal"
    events = synthetic(3)
    data = written(path, events)
    kept = data[: cut % (len(data) + 1)]
    path.write_bytes(kept)
    assert read_journal(path)[0] == events[: kept.count(b"\n")]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"nonsense",
        b"[1,2]",
        b'[4,"safety"',
        b'[4,"safety",null,null,5]',
        b"{}",
        b'{"x":1}',
        b'{"n":["planet",1,"x"]}',
        b'{"d":[]}',
        b"\xff",
        b'[5,"safety"]',
        b'[3,"safety"]',
    ],
)
def test_damage_is_named_with_its_line(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "journal"
    lines = written(path, synthetic(1)).splitlines()
    path.write_bytes(b"\n".join([*lines[:3], line, *lines[3:]]) + b"\n")
    with pytest.raises(RunFolderError, match="journal:4: is damaged"):
        read_journal(path)


def test_a_missing_journal_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="cannot be read"):
        read_journal(tmp_path / "journal")


def test_a_full_disk_is_reported_with_advice(tmp_path: Path) -> None:
    (tmp_path / "journal").symlink_to("/dev/full")
    with pytest.raises(RecordingFailed, match="the disk is full"):
        Journal(tmp_path / "journal").append(synthetic(1))


def test_a_removed_journal_is_noticed(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    (tmp_path / "journal").unlink()
    with pytest.raises(RecordingFailed, match="was removed during the run"):
        journal.append(synthetic(1))
    journal.close()


def test_after_a_failed_append_the_journal_holds_what_was_acknowledged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = synthetic(1)
    journal = Journal(tmp_path / "journal")
    journal.append(events[:2])
    write = os.write
    answers = iter([100])

    def fills_up(descriptor: int, data: bytes) -> int:
        if (size := next(answers, None)) is None:
            raise OSError(28, "No space left on device")
        return write(descriptor, data[:size])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", fills_up)
        with pytest.raises(RecordingFailed, match="the disk is full"):
            journal.append(events[2:])
    journal.append(events[2:4])
    journal.close()
    assert read_journal(tmp_path / "journal")[0] == events[:4]


_WRITER = """
import os, sys
from pathlib import Path
from simrunner.store.journal import Journal
from tests.store.synthetic import chunks, synthetic
journal = Journal(Path(sys.argv[1]))
for chunk in chunks(synthetic(400), 5):
    journal.append(chunk)
    os.write(1, b".")
"""


@pytest.mark.parametrize("acknowledged", random.Random(11).sample(range(1, 1900), 24))
def test_a_killed_writer_loses_nothing_acknowledged(tmp_path: Path, acknowledged: int) -> None:
    """The writer is killed as soon as so many appends were acknowledged; it is then somewhere in a later one."""
    path = tmp_path / "journal"
    seen = 0
    with subprocess.Popen([sys.executable, "-c", _WRITER, path], stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdout is not None
        while seen < acknowledged:
            seen += len(process.stdout.read(4096))
        process.kill()
        seen += len(process.stdout.read())
    events, _ = read_journal(path)
    assert len(events) >= 5 * seen
    assert events == synthetic(400)[: len(events)]
