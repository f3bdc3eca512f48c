"""The finished schedules of a campaign, a line each in `schedules-<part>.jsonl`; their events, in `events-<part>-<session>.bin`.

A schedule's events are written first, as one record: its length in four bytes (big-endian) and MessagePack `[schedule, [event,
...]]`. Its line follows and makes it finished. So a campaign that is killed at any moment leaves at most a torn record or one
whose line is missing; `repair` cuts that off, and the schedule is run again. When a campaign has ended, both
are sealed; one that goes on takes the seal off its lines first. Must not import numpy, pandas or pyarrow.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

from simrunner.errors import RunFolderError
from simrunner.model.event import Event
from simrunner.store import files
from simrunner.store.sums import SEAL_JSON, compare, read_seal

HISTORIES = "histories"
"""Where a campaign's events lie once they are sealed: `part=<k>/<session>-<number>.parquet`."""
_LENGTH_BYTES = 4
_NOT_WRITTEN = "was not written by the campaign: remove it"
_T = TypeVar("_T")


class ScheduleResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one schedule gave."""

    schedule: int
    """Its number in the campaign, from 0."""
    seed: int
    verdict: str
    root_cause: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z-]*$")] | None
    sha256: str
    """Of its history."""
    steps: int
    """Steps that were decided."""
    events: int
    duration_us: int
    """Real time that it took, reset and judging included. Not part of what a campaign repeats."""
    crash_points: tuple[str, ...] = ()
    """Those at which an actor was killed."""
    faults: tuple[str, ...] = ()
    """Kinds of the other faults that struck."""
    exercised: tuple[str, ...] = ()
    """Invariants that had an opportunity."""
    depth: int | None = None
    """pct: the bug depth that it looked for."""
    path: tuple[tuple[int, int], ...] = ()
    """exhaustive: (options, taken) at every choice."""
    is_deterministic: bool = True
    error: str | None = None
    """Why the schedule is unknown."""


class Ledger:
    """Appends the schedules of one part to a campaign's folder. Each command that goes on with it is a session of its own."""

    def __init__(self, folder: Path, part: int, session: int) -> None:
        self._paths = _lines_of(folder, part), folder / f"events-{part}-{session}.bin"
        self._lines, self._events = (_open(path) for path in self._paths)

    def append(self, result: ScheduleResult, events: Sequence[Event]) -> None:
        """Keep a finished schedule. Raises RecordingFailed."""
        record = msgspec.msgpack.encode([result.schedule, events])
        _write(self._events, self._paths[1], len(record).to_bytes(_LENGTH_BYTES, "big") + record)
        _write(self._lines, self._paths[0], msgspec.json.encode(result) + b"\n")

    def close(self) -> None:
        """Close the files."""
        os.close(self._lines)
        os.close(self._events)


def results_in(folder: Path) -> list[ScheduleResult]:
    """Return the finished schedules of a campaign by number. Raises RunFolderError for a damaged line.

    A torn last line is a schedule that did not finish.
    """
    found = {result.schedule: result for results in by_part(folder).values() for result in results}
    return [found[number] for number in sorted(found)]


def by_part(folder: Path) -> dict[int, list[ScheduleResult]]:
    """Return the finished schedules of each part, in the order in which they ended. Raises RunFolderError for a damaged line."""
    return {part: _results(path) for part, path in lines_in(folder).items()}


def lines_in(folder: Path) -> dict[int, Path]:
    """Return the files of lines by their parts, in order."""
    paths = {_part_of(path): path for path in folder.glob("schedules-*.jsonl") if path.stem.rpartition("-")[2].isdecimal()}
    return dict(sorted(paths.items()))


def repair(folder: Path) -> None:
    """Cut off what a kill left unfinished. Only while no part is running. Raises RunFolderError, RecordingFailed."""
    files.remove_unfinished(folder)
    for part, results in by_part(folder).items():
        finished = frozenset(result.schedule for result in results)
        lines = _lines_of(folder, part)
        _cut(lines, files.read_bytes(lines).rfind(b"\n") + 1)
        for events in folder.glob(f"events-{part}-*.bin"):
            _cut(events, _finished_bytes(events, finished))


def sealed_in(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of the campaign's sealed files by their paths from the folder. Raises RunFolderError."""
    return read_seal(folder) if (folder / SEAL_JSON).exists() else {}


def unseal_lines(folder: Path) -> None:
    """Take the seal off the lines of a campaign that goes on: they will grow. Raises RunFolderError, RecordingFailed."""
    sums = sealed_in(folder)
    events = {name: sum_then for name, sum_then in sums.items() if not _is_of_lines(name)}
    if events != sums:
        files.write_json(folder / SEAL_JSON, events, durable=True)


def check_sealed(folder: Path) -> None:
    """Raise RunFolderError, naming the file, where the sealed files of a campaign are not those that it wrote.

    What a kill left between the events and their seal counts as unwritten: as long as the events are there it is made again.
    """
    sums = sealed_in(folder)
    compare(folder, sums)
    if any(_is_of_lines(name) for name in sums):
        for path in lines_in(folder).values():
            if path.name not in sums:
                raise RunFolderError(_NOT_WRITTEN, place=path)
    written = (path for path in sorted((folder / HISTORIES).rglob("*")) if not path.is_dir() and not path.name.startswith("."))
    for path in written:
        if str(path.relative_to(folder)) not in sums and not _unsealed(folder, path).exists():
            what = _NOT_WRITTEN if sums else f"cannot be compared: {folder / SEAL_JSON} is gone"
            raise RunFolderError(what, place=path)


def _unsealed(folder: Path, sealed: Path) -> Path:
    """The file of events from which a Parquet file is made."""
    return folder / f"events-{sealed.parent.name.removeprefix('part=')}-{sealed.name.partition('-')[0]}.bin"


def records_of(path: Path) -> Iterator[tuple[int, list[Event]]]:
    """Yield (schedule, events) of every whole record of a file of events."""
    decoder = msgspec.msgpack.Decoder(tuple[int, list[Event]])
    with files.reading(path), path.open("rb") as file:
        while len(head := file.read(_LENGTH_BYTES)) == _LENGTH_BYTES:
            length = int.from_bytes(head, "big")
            if len(record := file.read(length)) < length:
                return
            yield _decoded(decoder, record, path)


def _finished_bytes(path: Path, finished: frozenset[int]) -> int:
    """Length of the records up to the first whose schedule has no line: only the last can be one."""
    decoder = msgspec.msgpack.Decoder(tuple[int, msgspec.Raw])
    length = 0
    with files.reading(path), path.open("rb") as file:
        while len(head := file.read(_LENGTH_BYTES)) == _LENGTH_BYTES:
            size = int.from_bytes(head, "big")
            record = file.read(size)
            if len(record) < size or _decoded(decoder, record, path)[0] not in finished:
                break
            length += _LENGTH_BYTES + size
    return length


def _decoded(decoder: msgspec.msgpack.Decoder[_T], record: bytes, path: Path) -> _T:
    try:
        return decoder.decode(record)
    except msgspec.DecodeError as error:
        raise RunFolderError(f"is damaged ({error}); the campaign cannot be read", place=path) from error


def _results(path: Path) -> list[ScheduleResult]:
    data = files.read_bytes(path)
    whole = data[: data.rfind(b"\n") + 1]
    try:
        return msgspec.json.Decoder(ScheduleResult).decode_lines(whole)
    except msgspec.DecodeError as error:
        raise RunFolderError(f"is damaged ({error}); the campaign cannot be read", place=path) from error


def _is_of_lines(name: str) -> bool:
    return name.startswith("schedules-")


def _lines_of(folder: Path, part: int) -> Path:
    return folder / f"schedules-{part}.jsonl"


def _part_of(path: Path) -> int:
    return int(path.stem.rpartition("-")[2])


def _cut(path: Path, length: int) -> None:
    with files.recording(path):
        os.truncate(path, length)


def _open(path: Path) -> int:
    with files.recording(path):
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)


def _write(descriptor: int, path: Path, data: bytes) -> None:
    with files.recording(path):
        while data:
            data = data[os.write(descriptor, data) :]
        if os.fstat(descriptor).st_nlink == 0:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
