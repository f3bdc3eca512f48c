"""The tape of a run on disk: what determines the run, its decisions and its random draws.

`tape.json` is kept apart from the history. The decisions are journalled as they are taken, so the tape of an interrupted
run is complete up to its last acknowledged decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from simrunner.errors import RunFolderError, TapeError
from simrunner.model.tape import DECISIONS, TAPE_SCHEMA, Decision, Draw
from simrunner.store import files
from simrunner.store.folder import RUN_JSON, RunFolder
from simrunner.store.journal import JOURNAL, Recorded, stream_journal

TAPE_JSON = "tape.json"


@dataclass(frozen=True, slots=True)
class Setup:
    """What determines a stepped run completely. The same keys stand at the top of run.json and of tape.json."""

    simrunner: str
    """Version of simrunner."""
    design: str
    design_sha256: str
    workload: str
    workload_sha256: str
    settings: tuple[tuple[str, str], ...]
    seed: int
    mode: str
    strategy: str
    postgres_major: int
    coalesced: bool = False
    """BEGIN and local actions were no steps of their own."""


@dataclass(frozen=True, slots=True)
class Tape:
    """A schedule: following it reproduces the run or stops at the first step that differs."""

    setup: Setup
    decisions: tuple[Decision, ...]
    draws: tuple[Draw, ...]


@dataclass(frozen=True, slots=True)
class _Reel:
    """The part of tape.json that is not its Setup."""

    decisions: tuple[Decision, ...]
    draws: tuple[Draw, ...]


def write_tape(path: Path, tape: Tape) -> None:
    """Write a tape to a file, atomically. Raises RecordingFailed."""
    head = {"schema": TAPE_SCHEMA, **asdict(tape.setup)}
    lines = [f"  {_text(key)}: {_text(value)}" for key, value in head.items()]
    lines += [_lines("decisions", tape.decisions), _lines("draws", tape.draws)]
    files.write_bytes(path, ("{\n" + ",\n".join(lines) + "\n}\n").encode())


def _lines(key: str, rows: Sequence[object]) -> str:
    """Write one row a line, so that two tapes can be compared with diff."""
    return f"  {_text(key)}: [" + ",".join(f"\n    {_text(row)}" for row in rows) + "\n  ]"


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()


def read_tape(path: Path) -> Tape:
    """Return the tape of a file, or of a run folder (of its journal, where the run was interrupted).

    Raises TapeError for a missing or truncated file, for what is not a tape, and for a newer schema.
    """
    if path.is_dir():
        return tape_of(RunFolder.open(path))
    try:
        document = msgspec.json.decode(files.read_bytes(path))
    except RunFolderError as error:
        raise TapeError(str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise TapeError(f"is truncated or not JSON ({error})", place=path) from error
    _check_schema(document, path)
    try:
        tape = Tape(msgspec.convert(document, Setup), *_reel(msgspec.convert(document, _Reel)))
    except msgspec.ValidationError as error:
        raise TapeError(f"is not a tape ({error})", place=path) from error
    _check_kinds(tape.decisions, path)
    return tape


def _reel(reel: _Reel) -> tuple[tuple[Decision, ...], tuple[Draw, ...]]:
    return reel.decisions, reel.draws


def _check_schema(document: object, path: Path) -> None:
    schema = document.get("schema") if isinstance(document, dict) else None
    if not isinstance(schema, int):
        raise TapeError("is not a tape: it has no schema number", place=path)
    if schema > TAPE_SCHEMA:
        raise TapeError(
            f"was written by a newer simrunner (schema {schema}, this one reads up to {TAPE_SCHEMA}); upgrade simrunner",
            place=path,
        )


def _check_kinds(decisions: Sequence[Decision], path: Path) -> None:
    for number, decision in enumerate(decisions, 1):
        if decision.kind not in DECISIONS:
            raise TapeError(f"decision {number} is of no known kind: {decision.kind!r}", place=path)


def tape_of(folder: RunFolder) -> Tape:
    """Return the tape of a run: its tape.json, else what its journal holds. Raises TapeError or RunFolderError."""
    if (folder.path / TAPE_JSON).exists():
        return read_tape(folder.path / TAPE_JSON)
    recorded = Recorded()
    for _ in stream_journal(folder.path / JOURNAL, recorded):
        pass
    return tape_from(folder, recorded)


def tape_from(folder: RunFolder, recorded: Recorded) -> Tape:
    """Return the tape that run.json and the journalled decisions make up. Raises TapeError if the run had not begun."""
    try:
        setup = msgspec.convert(folder.run(), Setup)
    except msgspec.ValidationError as error:
        raise TapeError(f"the run ended before it was set up ({error})", place=folder.path / RUN_JSON) from error
    return Tape(setup, tuple(recorded.decisions), tuple(recorded.draws))
