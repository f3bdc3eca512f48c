"""Sealing a run: its journal becomes Parquet parts, and only then the journal goes.

While there is a journal it is the truth, and everything else that sealing makes can be made again from it; without one the
parts are, and `seal.json` holds their SHA-256. So a crash at any point loses nothing and sealing again finishes the work.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path

import pyarrow as pa

from simrunner.errors import RunFolderError
from simrunner.history.schema import SCHEMA, to_table
from simrunner.limits import LIMITS
from simrunner.model.event import Event
from simrunner.store import files, parquet
from simrunner.store.final import FINAL_ROWS, read_unsealed_final
from simrunner.store.folder import RUNNING, RunFolder
from simrunner.store.journal import JOURNAL, Recorded, stream_journal
from simrunner.store.sums import SEAL_JSON, sha256_of
from simrunner.store.tape import TAPE_JSON, tape_from, write_tape

NAMES_JSON = "names.json"
EVENTS = "events"
FINAL_JOBS = "final/jobs.parquet"
FINAL_AUDIT = "final/audit.parquet"

_CHUNK_ROWS = 50_000
"""Events held as Python tuples at one time: a tuple takes about 1 kB, its row in Arrow about 200 bytes."""


@contextmanager
def events_lock(folder: RunFolder, how: int) -> Iterator[None]:
    """Hold a flock(2) on the folder's events: LOCK_EX to seal them, LOCK_SH to read them while nobody seals."""
    try:
        descriptor = os.open(folder.path / EVENTS, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise RunFolderError(f"cannot be read ({error.strerror})", place=folder.path / EVENTS) from error
    try:
        fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)


def seal(folder: RunFolder) -> None:
    """Turn a finished or interrupted run's journal into Parquet. Does nothing to a sealed run; safe to repeat after a crash.

    Raises RunFolderError for a damaged journal or a run that is still going on, RecordingFailed where the folder cannot be
    written; an unsealed run can still be read.
    """
    if not folder.is_owner and folder.status() == RUNNING:
        raise RunFolderError("is still running; wait for its end", place=folder.path)
    with events_lock(folder, fcntl.LOCK_EX):
        if (folder.path / JOURNAL).exists():
            _seal(folder)
        if (folder.path / FINAL_ROWS).exists():
            with files.recording(folder.path):
                (folder.path / FINAL_ROWS).unlink()
        files.remove_unfinished(folder.path)


def _seal(folder: RunFolder) -> None:
    recorded = Recorded()
    with _fitting(folder.path / JOURNAL):
        written = _write_parts(folder, stream_journal(folder.path / JOURNAL, recorded))
    files.write_json(folder.path / NAMES_JSON, recorded.names, durable=True)
    if recorded.decisions and not (folder.path / TAPE_JSON).exists():
        write_tape(folder.path / TAPE_JSON, tape_from(folder, recorded))
    with _fitting(folder.path / FINAL_ROWS):
        written += [folder.path / NAMES_JSON, *_write_final(folder)]
    sums = {str(path.relative_to(folder.path)): sha256_of(path) for path in written}
    files.write_json(folder.path / SEAL_JSON, sums, durable=True)
    with files.recording(folder.path):
        (folder.path / JOURNAL).unlink()


@contextmanager
def _fitting(source: Path) -> Iterator[None]:
    """Turn a value of `source` that does not fit its column, such as an integer beyond 64 bits, into RunFolderError."""
    try:
        yield
    except (pa.ArrowException, OverflowError) as error:
        raise RunFolderError(f"is damaged: {error}", place=source) from error


def _write_parts(folder: RunFolder, events: Iterator[Event]) -> list[Path]:
    """Write the events in parts of LIMITS.parquet_rows_per_part rows and return the parts' paths; at least one."""
    paths = []
    for number, table in enumerate(_tables(events, LIMITS.parquet_rows_per_part)):
        paths.append(folder.path / EVENTS / f"part-{number:05d}.parquet")
        parquet.write_events(paths[-1], table)
    return paths


def _tables(events: Iterator[Event], rows: int) -> Iterator[pa.Table]:
    """Yield tables of `rows` rows and a shorter last one. An empty history is one empty table."""
    first = next(events, None)
    if first is None:
        yield SCHEMA.empty_table()
        return
    rest = chain([first], events)
    while chunks := list(_chunks(islice(rest, rows))):
        yield pa.concat_tables(chunks).unify_dictionaries()


def _chunks(events: Iterator[Event]) -> Iterator[pa.Table]:
    while chunk := list(islice(events, _CHUNK_ROWS)):
        yield to_table(chunk)


def _write_final(folder: RunFolder) -> list[Path]:
    rows = read_unsealed_final(folder)
    written = []
    if rows.jobs is not None:
        written.append(folder.path / FINAL_JOBS)
        parquet.write_jobs(written[-1], rows.jobs)
    if rows.audit is not None:
        written.append(folder.path / FINAL_AUDIT)
        parquet.write_audit(written[-1], rows.audit)
    return written
