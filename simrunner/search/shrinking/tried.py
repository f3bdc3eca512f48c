"""The candidates that a shrink has tried, in the run's folder: an interrupted shrink goes on where it was."""

from __future__ import annotations

from pathlib import Path

import msgspec

from simrunner import __version__
from simrunner.search.shrinking.case import Case
from simrunner.store import files

TRIED = "shrink.jsonl"
"""One line says what the others belong to; each of them is a candidate and whether it fails in the same way."""


class Tried:
    """Answers by candidate. Raises RecordingFailed if the folder cannot be written."""

    def __init__(self, folder: Path, about: str) -> None:
        """`about`: what the answers depend on besides the candidate. Answers to another question are thrown away."""
        self._path = folder / TRIED
        self._head = msgspec.json.encode(f"{__version__} {about}")
        self._answers = dict(_answers(self._path, self._head))
        self.asked = 0
        """Candidates that were looked up or tried by this shrink."""
        files.write_bytes(self._path, b"\n".join([self._head, *(_line(*pair) for pair in self._answers.items())]) + b"\n")

    def answer(self, case: Case) -> bool | None:
        """Return what an earlier try of the candidate gave."""
        self.asked += 1
        return self._answers.get(msgspec.json.encode(case))

    def keep(self, case: Case, *, holds: bool) -> None:
        """Keep an answer: one write."""
        key = msgspec.json.encode(case)
        self._answers[key] = holds
        with files.recording(self._path), self._path.open("ab") as file:
            file.write(_line(key, holds) + b"\n")


def _answers(path: Path, head: bytes) -> list[tuple[bytes, bool]]:
    """Read the answers of a file to the same question; a torn last line is left out."""
    if not path.exists():
        return []
    first, *lines = files.read_bytes(path).split(b"\n")[:-1] or [b""]
    return [_pair(line) for line in lines if line[:2] in (b"+ ", b"- ")] if first == head else []


def _pair(line: bytes) -> tuple[bytes, bool]:
    return line[2:], line[:1] == b"+"


def _line(key: bytes, holds: bool) -> bytes:
    return (b"+ " if holds else b"- ") + key
