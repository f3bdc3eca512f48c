"""Sealing a campaign that has ended.

Its histories become one partitioned Parquet dataset: `histories/part=<k>/*.parquet`, with a column `schedule`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from simrunner.history.schema import to_table
from simrunner.model.event import Event
from simrunner.store import files, parquet
from simrunner.store.schedules import HISTORIES, lines_in, records_of, sealed_in
from simrunner.store.sums import SEAL_JSON, sha256_of

_ROWS = 100_000
"""A file is ended with the schedule that brings it to so many events: a Python tuple takes about 1 kB."""


def seal_campaign(folder: Path) -> int:
    """Turn the events of finished schedules into Parquet and remove what they were in. Returns the number of new events.

    Safe to repeat after a crash: a file of events always gives the same Parquet files, and is removed only after `seal.json`
    has their SHA-256. That of the lines comes last. The folder was repaired before. Raises RecordingFailed, RunFolderError.
    """
    events = 0
    sums = sealed_in(folder)
    for source in sorted(folder.glob("events-*-*.bin")):
        _, part, session = source.stem.split("-")
        target = folder / HISTORIES / f"part={part}"
        with files.recording(target):
            target.mkdir(parents=True, exist_ok=True)
        for number, table in enumerate(_tables(source)):
            path = target / f"{session}-{number:05}.parquet"
            parquet.write_events(path, table)
            sums[str(path.relative_to(folder))] = sha256_of(path)
            events += table.num_rows
        files.write_json(folder / SEAL_JSON, sums, durable=True)
        with files.recording(source):
            source.unlink()
    sums.update((path.name, sha256_of(path)) for path in lines_in(folder).values())
    files.write_json(folder / SEAL_JSON, sums, durable=True)
    return events


def _tables(source: Path) -> Iterator[pa.Table]:
    schedules: list[int] = []
    events: list[Event] = []
    for schedule, more in records_of(source):
        schedules += [schedule] * len(more)
        events += more
        if len(events) >= _ROWS:
            yield _table(schedules, events)
            schedules, events = [], []
    if events:
        yield _table(schedules, events)


def _table(schedules: list[int], events: list[Event]) -> pa.Table:
    table = to_table(events)
    column = pa.field("schedule", pa.int64(), nullable=False)
    return table.add_column(0, column, pa.array(schedules, pa.int64())).replace_schema_metadata(table.schema.metadata)
