"""The histories of a campaign as one partitioned Parquet dataset: `histories/part=<k>/*.parquet`, with a column `schedule`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from simrunner.history.schema import to_table
from simrunner.limits import LIMITS
from simrunner.model.event import Event
from simrunner.store import files

HISTORIES = "histories"


def seal_histories(folder: Path, finished: frozenset[int]) -> int:
    """Turn `events-<part>.jsonl` into Parquet and remove them. Returns the number of events. Raises RecordingFailed.

    Events of schedules that did not finish are left out: they will be run again.
    """
    events = 0
    for source in sorted(folder.glob("events-*.jsonl")):
        part = source.stem.rpartition("-")[2]
        target = folder / HISTORIES / f"part={part}"
        with files.recording(target):
            target.mkdir(parents=True, exist_ok=True)
            first = len(list(target.glob("*.parquet")))
            for number, table in enumerate(_tables(source, finished), first):
                draft = target / f".part-{number:05}.parquet"
                pq.write_table(table, draft, compression="zstd")
                draft.rename(target / f"part-{number:05}.parquet")
                events += table.num_rows
            source.unlink()
    return events


def _tables(source: Path, finished: frozenset[int]) -> Iterator[pa.Table]:
    rows = _rows(source, finished)
    while chunk := list(islice(rows, LIMITS.parquet_rows_per_part)):
        table = to_table([event for _, event in chunk])
        schedules = pa.array([schedule for schedule, _ in chunk], pa.int64())
        yield table.add_column(0, "schedule", schedules).replace_schema_metadata(table.schema.metadata)


def _rows(source: Path, finished: frozenset[int]) -> Iterator[tuple[int, Event]]:
    decoder = msgspec.json.Decoder(list)
    with source.open("rb") as lines:
        for line in lines:
            if line.endswith(b"\n"):
                schedule, *values = decoder.decode(line)
                if schedule in finished:
                    yield schedule, Event._make(values)
