"""The ledger of a campaign: what a kill at any byte leaves, and the histories as one table."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pandas
import pytest

from simrunner.errors import RecordingFailed, RunFolderError
from simrunner.model.event import Event
from simrunner.store import files
from simrunner.store.files import write_json
from simrunner.store.histories import seal_campaign
from simrunner.store.schedules import (
    HISTORIES,
    Ledger,
    ScheduleResult,
    by_part,
    check_sealed,
    records_of,
    repair,
    results_in,
    unseal_lines,
)

EVENTS = [Event(1, "setup", kind="run", value="start"), Event(2, "safety", kind="clock", value="5", virtual_time=7)]


def result(number: int) -> ScheduleResult:
    return ScheduleResult(
        number, number * 10, "valid", None, f"sha{number}", 5, 2, 1000, ("after-commit",), path=((2, 1), (3, 0))
    )


def written(folder: Path, *numbers: int, part: int = 0, session: int = 0) -> None:
    ledger = Ledger(folder, part, session)
    for number in numbers:
        ledger.append(result(number), EVENTS)
    ledger.close()


def recorded(folder: Path) -> list[int]:
    return sorted(number for path in folder.glob("events-*.bin") for number, _ in records_of(path))


def test_what_was_appended_is_read(tmp_path: Path) -> None:
    written(tmp_path, 0, 2, part=0)
    written(tmp_path, 1, part=1)
    assert results_in(tmp_path) == [result(0), result(1), result(2)]
    assert {part: [one.schedule for one in results] for part, results in by_part(tmp_path).items()} == {0: [0, 2], 1: [1]}
    assert [(number, events) for number, events in records_of(tmp_path / "events-0-0.bin")] == [(0, EVENTS), (2, EVENTS)]


def test_a_later_session_has_events_of_its_own(tmp_path: Path) -> None:
    written(tmp_path, 0)
    written(tmp_path, 1, session=1)
    assert results_in(tmp_path) == [result(0), result(1)]
    assert recorded(tmp_path) == [0, 1]
    assert len(list(tmp_path.glob("events-0-*.bin"))) == 2


def test_a_kill_at_any_byte_loses_only_what_was_not_finished(tmp_path: Path) -> None:
    """Events first, line second: cut both files wherever a kill may have cut them."""
    whole = tmp_path / "whole"
    whole.mkdir()
    written(whole, 0, 1)
    lines, events = (whole / "schedules-0.jsonl").read_bytes(), (whole / "events-0-0.bin").read_bytes()
    first_line, first_record = lines.index(b"\n") + 1, len(events) // 2
    cuts = [(first_line, cut) for cut in range(first_record, len(events) + 1)]
    cuts += [(cut, len(events)) for cut in range(first_line, len(lines) + 1)]
    for number, (line_bytes, event_bytes) in enumerate(cuts):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "schedules-0.jsonl").write_bytes(lines[:line_bytes])
        (folder / "events-0-0.bin").write_bytes(events[:event_bytes])
        repair(folder)
        finished = [one.schedule for one in results_in(folder)]
        assert finished == ([0, 1] if line_bytes == len(lines) else [0])
        assert recorded(folder) == finished
        written(folder, *({0, 1} - set(finished)), session=1)
        assert results_in(folder) == [result(0), result(1)]
        assert recorded(folder) == [0, 1]
        shutil.rmtree(folder)


def test_a_part_that_was_killed_before_its_first_line(tmp_path: Path) -> None:
    written(tmp_path, 0)
    (tmp_path / "schedules-0.jsonl").write_bytes(b"")
    repair(tmp_path)
    assert (results_in(tmp_path), recorded(tmp_path)) == ([], [])


def test_repairing_twice_changes_nothing(tmp_path: Path) -> None:
    written(tmp_path, 0, 1)
    before = (tmp_path / "events-0-0.bin").read_bytes()
    repair(tmp_path)
    repair(tmp_path)
    assert (tmp_path / "events-0-0.bin").read_bytes() == before


def test_a_damaged_line_is_told(tmp_path: Path) -> None:
    written(tmp_path, 0)
    with (tmp_path / "schedules-0.jsonl").open("ab") as file:
        file.write(b"{}\n")
    with pytest.raises(RunFolderError, match=r"schedules-0.jsonl: is damaged"):
        results_in(tmp_path)


def test_the_histories_are_one_table(tmp_path: Path) -> None:
    written(tmp_path, 0, 2, part=0)
    written(tmp_path, 1, part=1)
    assert seal_campaign(tmp_path) == 6
    table = pandas.read_parquet(tmp_path / HISTORIES)
    assert table.groupby("schedule").size().to_dict() == {0: 2, 1: 2, 2: 2}
    assert table.groupby("part", observed=True).schedule.unique().map(list).to_dict() == {0: [0, 2], 1: [1]}
    assert list(table.kind[table.schedule == 1]) == ["run", "clock"]
    assert list(tmp_path.glob("events-*")) == []


def test_sealing_again_after_a_crash_repeats_nothing(tmp_path: Path) -> None:
    """The Parquet files were written, but what they were made of was not removed."""
    written(tmp_path, 0, 1)
    events = tmp_path / "events-0-0.bin"
    kept = events.read_bytes()
    seal_campaign(tmp_path)
    events.write_bytes(kept)
    seal_campaign(tmp_path)
    assert len(pandas.read_parquet(tmp_path / HISTORIES)) == 4


def test_sealing_in_several_sessions_adds_up(tmp_path: Path) -> None:
    for session in range(3):
        written(tmp_path, session, session=session)
        seal_campaign(tmp_path)
    assert sorted(pandas.read_parquet(tmp_path / HISTORIES).schedule) == [0, 0, 1, 1, 2, 2]


def test_a_removed_folder_is_noticed(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, 0, 0)
    for path in tmp_path.iterdir():
        path.unlink()
    with pytest.raises(RecordingFailed, match="was removed during the run"):
        ledger.append(result(0), [])
    ledger.close()


def sealed(folder: Path) -> Path:
    """A campaign that has ended."""
    written(folder, 0, 1)
    repair(folder)
    seal_campaign(folder)
    check_sealed(folder)
    return folder / HISTORIES / "part=0/0-00000.parquet"


def test_a_kill_between_the_events_and_their_seal_is_no_damage(tmp_path: Path) -> None:
    """The events are still there, so the Parquet files beside them, whole or not, are made again."""
    sealed(tmp_path)
    unseal_lines(tmp_path)
    written(tmp_path, 2, session=1)
    begun = tmp_path / HISTORIES / "part=0/1-00000.parquet"
    begun.write_bytes(b"PAR1")
    check_sealed(tmp_path)
    seal_campaign(tmp_path)
    check_sealed(tmp_path)
    assert sorted(pandas.read_parquet(tmp_path / HISTORIES).schedule.unique()) == [0, 1, 2]
    begun.rename(begun.with_name("2-00000.parquet"))
    with pytest.raises(RunFolderError, match=r"1-00000[.]parquet: cannot be read"):
        check_sealed(tmp_path)


def test_a_file_that_nobody_seals_is_damage(tmp_path: Path) -> None:
    begun = sealed(tmp_path).with_name("1-00000.parquet")
    begun.write_bytes(b"PAR1")
    with pytest.raises(RunFolderError, match=r"1-00000[.]parquet: was not written by the campaign"):
        check_sealed(tmp_path)


def test_an_unfinished_file_is_no_damage(tmp_path: Path) -> None:
    sealed(tmp_path).with_name(".0-00001.parquet.4194305.tmp").write_bytes(b"PAR1")
    check_sealed(tmp_path)


def change_a_digit(folder: Path) -> Path:
    path = folder / "schedules-0.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"steps":5', b'"steps":6', 1))
    return path


def test_a_changed_digit_in_a_line_is_damage(tmp_path: Path) -> None:
    sealed(tmp_path)
    change_a_digit(tmp_path)
    assert results_in(tmp_path)[0].steps == 6
    with pytest.raises(RunFolderError, match=r"schedules-0[.]jsonl: is damaged: it is not the file that simrunner wrote"):
        check_sealed(tmp_path)


def test_lines_that_are_gone_or_that_nobody_sealed_are_damage(tmp_path: Path) -> None:
    sealed(tmp_path)
    more = Path(shutil.copy(tmp_path / "schedules-0.jsonl", tmp_path / "schedules-7.jsonl"))
    with pytest.raises(RunFolderError, match=r"schedules-7[.]jsonl: was not written by the campaign"):
        check_sealed(tmp_path)
    more.unlink()
    check_sealed(tmp_path)
    (tmp_path / "schedules-0.jsonl").unlink()
    with pytest.raises(RunFolderError, match=r"schedules-0[.]jsonl: cannot be read"):
        check_sealed(tmp_path)


def test_a_kill_of_a_campaign_that_went_on_is_no_damage(tmp_path: Path) -> None:
    """Whatever it had appended, in an old part or a new one, torn or not, its lines were under no seal. Its old events are."""
    events = sealed(tmp_path)
    unseal_lines(tmp_path)
    check_sealed(tmp_path)
    written(tmp_path, 2, session=1)
    written(tmp_path, 3, part=1, session=1)
    with (tmp_path / "schedules-0.jsonl").open("ab") as file:
        file.write(b'{"schedule":')
    check_sealed(tmp_path)
    repair(tmp_path)
    seal_campaign(tmp_path)
    check_sealed(tmp_path)
    change_a_digit(tmp_path)
    with pytest.raises(RunFolderError, match="schedules-0"):
        check_sealed(tmp_path)
    unseal_lines(tmp_path)
    events.write_bytes(b"PAR1")
    with pytest.raises(RunFolderError, match="0-00000"):
        check_sealed(tmp_path)


def test_a_kill_while_a_campaign_is_sealed_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it is killed between its last line and the last seal."""
    for stop in range(1, 4):
        folder = tmp_path / str(stop)
        folder.mkdir()
        written(folder, 0)
        written(folder, 1, part=1)
        seals = count(1)

        def write(path: Path, document: object, *, durable: bool, stop: int = stop, seals: Iterator[int] = seals) -> None:
            if next(seals) == stop:
                raise Killed
            write_json(path, document, durable=durable)

        with monkeypatch.context() as patched:
            patched.setattr(files, "write_json", write)
            with pytest.raises(Killed):
                seal_campaign(folder)
        check_sealed(folder)
        seal_campaign(folder)
        check_sealed(folder)
        change_a_digit(folder)
        with pytest.raises(RunFolderError, match="schedules-0"):
            check_sealed(folder)


class Killed(Exception):
    """What stands for the end of the process."""
