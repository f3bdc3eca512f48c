"""A campaign: many schedules of one workload against one design, and what each of them gave.

`schedules.jsonl` holds one line per finished schedule, written only after its events are in `events.jsonl`, so that a campaign
that is killed and resumed neither loses nor repeats one. Must not import numpy, pandas or pyarrow: actors are forked here.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from simrunner.errors import RunFolderError
from simrunner.model.event import Event
from simrunner.store import files

SCHEDULES = "schedules.jsonl"
EVENTS = "events.jsonl"


class ScheduleResult(msgspec.Struct, frozen=True):
    """What one schedule gave."""

    schedule: int
    """Its number in the campaign, from 0."""
    seed: int
    verdict: str
    root_cause: str | None
    sha256: str
    steps: int
    events: int
    crash_points: tuple[str, ...]
    """Those at which an actor was killed."""
    path: tuple[tuple[int, int], ...] = ()
    """Exhaustive: (options, taken) at every choice."""
    error: str | None = None
    """Why the schedule is unknown."""


class Ledger:
    """Appends schedules to a campaign's folder, one write each."""

    def __init__(self, folder: Path, part: int) -> None:
        self._schedules = _open(folder / _part(SCHEDULES, part))
        self._events = _open(folder / _part(EVENTS, part))
        self._encoder = msgspec.json.Encoder()

    def append(self, result: ScheduleResult, events: Sequence[Event]) -> None:
        """Keep a finished schedule. Raises RecordingFailed."""
        lines = [[result.schedule, *event] for event in events]
        _write(self._events, self._encoder.encode_lines(lines))
        _write(self._schedules, self._encoder.encode(result) + b"\n")

    def close(self) -> None:
        """Close the files."""
        os.close(self._schedules)
        os.close(self._events)


def results_in(folder: Path) -> list[ScheduleResult]:
    """Return the finished schedules of a campaign, all parts, by number. A torn last line is a schedule that did not finish."""
    found: dict[int, ScheduleResult] = {}
    for path in sorted(folder.glob(_part(SCHEDULES, None))):
        for result in _lines(path):
            found[result.schedule] = result
    return [found[number] for number in sorted(found)]


def summary(results: Sequence[ScheduleResult]) -> dict[str, object]:
    """Figures of a campaign: schedules, distinct histories, steps, crash points hit, findings by root cause."""
    causes = Counter(result.root_cause for result in results if result.root_cause is not None)
    points = Counter(point for result in results for point in result.crash_points)
    return {
        "schedules": len(results),
        "distinct_histories": len({result.sha256 for result in results}),
        "steps": sum(result.steps for result in results),
        "crash_points": dict(sorted(points.items())),
        "findings": dict(sorted(causes.items())),
        "unknown": sum(1 for result in results if result.verdict == "unknown"),
    }


def _lines(path: Path) -> Iterable[ScheduleResult]:
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    try:
        yield from msgspec.json.Decoder(ScheduleResult).decode_lines(whole)
    except msgspec.DecodeError as error:
        raise RunFolderError(f"is damaged ({error}); the campaign cannot be read", place=path) from error


def _part(name: str, part: int | None) -> str:
    stem, _, suffix = name.rpartition(".")
    return f"{stem}-{'*' if part is None else part}.{suffix}"


def _open(path: Path) -> int:
    """Open for appending behind the last whole line."""
    with files.recording(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        data = path.read_bytes()
        os.ftruncate(descriptor, data.rfind(b"\n") + 1)
    return descriptor


def _write(descriptor: int, data: bytes) -> None:
    with files.recording(Path(SCHEDULES)):
        while data:
            data = data[os.write(descriptor, data) :]
