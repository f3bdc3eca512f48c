"""Parquet files of a run folder: events, final rows and findings. The encodings were chosen by measured size.

Integers and times are delta-coded, closed vocabularies and labels dictionary-coded, everything compressed with zstd. Every
page carries a checksum that reading verifies.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from simrunner.errors import RunFolderError
from simrunner.history.context import AuditRow
from simrunner.history.schema import SCHEMA, TIME, VERSION_KEY, from_table
from simrunner.model.event import SCHEMA_VERSION, Event
from simrunner.model.job import JobRow, JobState
from simrunner.model.verdict import Finding
from simrunner.store import files

JOBS_SCHEMA = pa.schema(
    [
        ("job", pa.int64()),
        ("job_id", pa.string()),
        ("key", pa.string()),
        ("group", pa.string()),
        ("state", pa.string()),
        ("owner", pa.string()),
        ("token", pa.string()),
        ("attempts", pa.int64()),
        ("max_attempts", pa.int64()),
        ("available_at", TIME),
        ("claimed_at", TIME),
        ("lease_until", TIME),
        ("completed_at", TIME),
        ("order_key", pa.string()),  # a JSON array
    ]
)
"""final/jobs.parquet: the job's ordinal, then the fields of JobRow (its `job` is the text `job_id`)."""

AUDIT_SCHEMA = pa.schema(
    [
        ("job", pa.int64()),
        ("attempt", pa.int64()),
        ("token", pa.int64()),
        ("from_state", pa.string()),
        ("to_state", pa.string()),
    ]
)
"""final/audit.parquet: the fields of AuditRow, in the audit trail's order."""

FINDINGS_SCHEMA = pa.schema(
    [
        ("invariant", pa.string()),
        ("seq", pa.int64()),
        ("job", pa.int64()),
        ("witness", pa.list_(pa.int64())),
        ("explanation", pa.string()),
    ]
)
"""findings.parquet: the fields of Finding."""

_VERSION = re.compile(rb"[0-9]{1,9}")
_REPEATING_TEXTS = ("value", "blocked_by")
"""Texts of events that are few and repeat."""


def write_events(path: Path, table: pa.Table) -> None:
    """Write one part of the events durably and atomically. Raises RecordingFailed."""
    files.write_bytes(path, _encoded(table), durable=True)


def read_events(path: Path) -> list[Event]:
    """Return the events of one part. Raises RunFolderError, naming the file, if it is damaged or of a newer schema."""
    table = _read(path)
    version = (table.schema.metadata or {}).get(VERSION_KEY, b"")
    if _VERSION.fullmatch(version) and int(version) > SCHEMA_VERSION:
        raise RunFolderError(f"has events of a newer simrunner (schema {int(version)}); upgrade simrunner", place=path)
    _check(table, SCHEMA, path)
    return from_table(table)


def write_jobs(path: Path, jobs: Sequence[tuple[int, JobRow]]) -> None:
    """Write final/jobs.parquet. Raises RecordingFailed."""
    _write_rows(path, ((ordinal, *row[:-1], _key_text(row)) for ordinal, row in jobs), JOBS_SCHEMA)


def read_jobs(path: Path) -> tuple[tuple[int, JobRow], ...]:
    """Return final/jobs.parquet. Raises RunFolderError."""
    return tuple((ordinal, _job_row(fields, path)) for ordinal, *fields in _read_rows(path, JOBS_SCHEMA))


def write_audit(path: Path, audit: Sequence[AuditRow]) -> None:
    """Write final/audit.parquet. Raises RecordingFailed."""
    _write_rows(path, ((row.job, row.attempt, row.token, row.from_state, row.to_state) for row in audit), AUDIT_SCHEMA)


def read_audit(path: Path) -> tuple[AuditRow, ...]:
    """Return final/audit.parquet. Raises RunFolderError."""
    return tuple(AuditRow(*row) for row in _read_rows(path, AUDIT_SCHEMA))


def write_findings(path: Path, findings: Sequence[Finding]) -> None:
    """Write findings.parquet. Raises RecordingFailed."""
    rows = ((found.invariant, found.seq, found.job, list(found.witness), found.explanation) for found in findings)
    _write_rows(path, rows, FINDINGS_SCHEMA)


def read_findings(path: Path) -> tuple[Finding, ...]:
    """Return findings.parquet. Raises RunFolderError."""
    rows = _read_rows(path, FINDINGS_SCHEMA)
    return tuple(Finding(name, seq, job, tuple(witness), text) for name, seq, job, witness, text in rows)


def _key_text(row: JobRow) -> str | None:
    return None if row.order_key is None else msgspec.json.encode(row.order_key).decode()


def _job_row(fields: Sequence[Any], path: Path) -> JobRow:
    job, key, group, state, *middle, order_key = fields
    try:
        order = None if order_key is None else msgspec.json.decode(order_key, type=tuple[int | str, ...])
        return JobRow._make((job, key, group, JobState(state), *middle, order))
    except (ValueError, msgspec.DecodeError) as error:
        raise RunFolderError(f"is damaged ({error})", place=path) from error


def _write_rows(path: Path, rows: Iterable[Sequence[Any]], schema: pa.Schema) -> None:
    columns: list[Sequence[Any]] = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    files.write_bytes(path, _encoded(pa.Table.from_arrays(arrays, schema=schema)), durable=True)


def _read_rows(path: Path, schema: pa.Schema) -> list[tuple[Any, ...]]:
    table = _read(path)
    _check(table, schema, path)
    return list(zip(*(_plain(column).to_pylist() for column in table.columns), strict=True))


def _plain(column: Any) -> Any:
    return column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column


def _encoded(table: pa.Table) -> bytes:
    """Return a table as the bytes of a Parquet file."""
    target = io.BytesIO()
    integers = [field.name for field in table.schema if pa.types.is_integer(field.type) or pa.types.is_timestamp(field.type)]
    repeating = [field.name for field in table.schema if pa.types.is_dictionary(field.type) or field.name in _REPEATING_TEXTS]
    pq.write_table(
        table,
        target,
        compression="zstd",
        compression_level=9,
        use_dictionary=repeating,
        column_encoding=dict.fromkeys(integers, "DELTA_BINARY_PACKED"),
        write_page_checksum=True,
    )
    return target.getvalue()


def _read(path: Path) -> pa.Table:
    data = files.read_bytes(path)
    try:
        return pq.read_table(pa.BufferReader(data), page_checksum_verification=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        first_line = str(error).partition("\n")[0]
        raise RunFolderError(f"is truncated or damaged ({first_line})", place=path) from error


def _check(table: pa.Table, schema: pa.Schema, path: Path) -> None:
    if not table.schema.equals(schema):
        raise RunFolderError("does not have the columns that simrunner wrote", place=path)
