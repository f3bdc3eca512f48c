"""The append-only journal of a running run: what is acknowledged is in it, whatever dies next.

One JSON value per line: an array is an event in the column order of Event; an object is a name `{"n": [kind, ordinal,
text]}`, a decision `{"d": [kind, actor, label, amount]}` or a random draw `{"r": [stream, bound, value]}`. One append is one
write(2), so a process killed at any moment leaves whole lines and at most one torn last line, which readers cut off. Must
not import numpy, pandas or pyarrow.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import msgspec

from simrunner.errors import RunFolderError
from simrunner.model.event import Event
from simrunner.model.tape import Decision, Draw
from simrunner.store import files

JOURNAL = "events/journal"
"""Path of the journal in a run folder."""

NAME_KINDS = ("job", "token", "key")

Name: TypeAlias = tuple[str, int, str]
"""(one of NAME_KINDS, ordinal in the run from 1, text)."""

Names: TypeAlias = dict[str, dict[int, str]]
"""Kind -> ordinal -> text. Every kind of NAME_KINDS is there."""


class Journal:
    """The journal of the run that this process coordinates."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._encoder = msgspec.json.Encoder()
        with files.recording(path):
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._length_bytes = os.fstat(self._descriptor).st_size

    def append(
        self,
        events: Sequence[Event],
        names: Sequence[Name] = (),
        decisions: Sequence[Decision] = (),
        draws: Sequence[Draw] = (),
    ) -> None:
        """Append records with one write. When it returns they are acknowledged. Raises RecordingFailed.

        Names, draws and decisions go before the events that use them, so that a cut history still has them.
        """
        records = [
            *({"n": name} for name in names),
            *({"r": draw} for draw in draws),
            *({"d": decision} for decision in decisions),
            *events,
        ]
        if records:
            self._write(self._encoder.encode_lines(records))

    def fileno(self) -> int:
        """Return the descriptor; a forked child closes it."""
        return self._descriptor

    def close(self) -> None:
        """Close the journal."""
        os.close(self._descriptor)

    def _write(self, data: bytes) -> None:
        try:
            written = os.write(self._descriptor, data)
            while written < len(data):  # a short write, e.g. of a disk that is just now full: the next one says why
                written += os.write(self._descriptor, data[written:])
            if os.fstat(self._descriptor).st_nlink == 0:
                raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        except OSError as error:
            with suppress(OSError):  # cut off the part that was not acknowledged: a later append must not follow a torn line
                os.ftruncate(self._descriptor, self._length_bytes)
            raise files.recording_failed(self.path, error) from error
        self._length_bytes += len(data)


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a journal holds besides its events."""

    names: Names = field(default_factory=lambda: {kind: {} for kind in NAME_KINDS})
    decisions: list[Decision] = field(default_factory=list)
    draws: list[Draw] = field(default_factory=list)


class _Record(msgspec.Struct, forbid_unknown_fields=True):
    """A line that is not an event; exactly one of its fields is set."""

    n: Name | None = None
    d: Decision | None = None
    r: Draw | None = None


def read_journal(path: Path) -> tuple[list[Event], Names]:
    """Return the events and names of a journal. A torn last line is cut off.

    Raises RunFolderError, with the line, for anything else that is malformed and for a gap in seq.
    """
    recorded = Recorded()
    return list(stream_journal(path, recorded)), recorded.names


def stream_journal(path: Path, recorded: Recorded) -> Iterator[Event]:
    """Yield a journal's events one by one and fill `recorded` on the way. Raises as `read_journal`."""
    event_decoder = msgspec.json.Decoder(Event)
    record_decoder = msgspec.json.Decoder(_Record)
    expected_seq = 1
    for number, line in _whole_lines(path):
        try:
            if line.startswith(b"{"):
                _keep(record_decoder.decode(line), recorded)
                continue
            event = event_decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError) as error:
            raise RunFolderError(f"is damaged: {error}", place=f"{path}:{number}") from error
        if event.seq != expected_seq:
            raise RunFolderError(f"is damaged: event {event.seq} follows {expected_seq - 1}", place=f"{path}:{number}")
        expected_seq += 1
        yield event


def _whole_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with files.reading(path), path.open("rb") as lines:
        yield from _without_torn_tail(enumerate(lines, 1))


def _without_torn_tail(lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """Only the last line of a file can lack its line feed."""
    return ((number, line) for number, line in lines if line.endswith(b"\n"))


def _keep(record: _Record, recorded: Recorded) -> None:
    if record.n is not None:
        kind, ordinal, text = record.n
        recorded.names[kind][ordinal] = text
    elif record.d is not None:
        recorded.decisions.append(record.d)
    elif record.r is not None:
        recorded.draws.append(record.r)
    else:
        raise KeyError("a record without content")
