"""The Arrow schema of events, and the way from Event tuples to an Arrow table and back.

Closed vocabularies are dictionary-encoded; ids, tokens and keys are integers; times are `timestamp[us, UTC]`. The order
of the columns is that of `simrunner.model.event.Event`. The version stands in the schema's metadata.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa

from simrunner.model.event import SCHEMA_VERSION, Event

VERSION_KEY = b"simrunner.events.schema"
"""Key of the schema metadata under which SCHEMA_VERSION stands, in decimal."""

TIME = pa.timestamp("us", tz="UTC")
VOCABULARY = pa.dictionary(pa.int32(), pa.string())

TIMES = ("lease_until", "available_at", "txn_time", "virtual_time", "wall_time")
VOCABULARIES = (
    "phase",
    "actor",
    "kind",
    "operation",
    "crash_point",
    "cohort",
    "group",
    "from_state",
    "to_state",
    "owner",
    "sqlstate",
)
TEXTS = ("order_key", "value", "blocked_by", "note")
SMALL_INTEGERS = ("round", "incarnation", "generation", "held", "rank", "rows", "os_pid", "backend_pid")


def _type_of(column: str) -> Any:
    """Return the Arrow type of a column. What is in none of the lists is a 64-bit integer."""
    if column in TIMES:
        return TIME
    if column in VOCABULARIES:
        return VOCABULARY
    if column in TEXTS:
        return pa.string()
    return pa.int32() if column in SMALL_INTEGERS else pa.int64()


SCHEMA = pa.schema(
    [pa.field(name, _type_of(name), nullable=name not in ("seq", "phase", "kind")) for name in Event._fields],
    metadata={VERSION_KEY: str(SCHEMA_VERSION)},
)


def to_table(events: Iterable[Event]) -> pa.Table:
    """Return the events as a table of SCHEMA. Raises pyarrow.ArrowInvalid where a value does not fit its column."""
    columns: list[Sequence[Any]] = list(zip(*events, strict=True)) or [()] * len(Event._fields)
    arrays = [_array(values, field.type) for values, field in zip(columns, SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def from_table(table: pa.Table) -> list[Event]:
    """Return the rows of a table that has the columns of SCHEMA in their order."""
    columns = [_values(column, table.num_rows) for column in table.columns]
    return list(map(Event, *columns))


def _array(values: Sequence[Any], of_type: Any) -> Any:
    if pa.types.is_dictionary(of_type):
        return pa.array(values, of_type.value_type).dictionary_encode()
    return pa.array(values, of_type)


def _values(column: Any, rows: int) -> Iterable[Any]:
    """Return a column's Python values. Goes through numpy: `to_pylist` makes one Arrow scalar per cell and is 10 times slower."""
    if column.null_count == rows:
        return repeat(None, rows)
    if pa.types.is_string(column.type):
        column = column.dictionary_encode()
    array = column.combine_chunks()
    return _from_dictionary(array) if pa.types.is_dictionary(array.type) else _from_integers(array)


def _from_dictionary(array: Any) -> Iterable[Any]:
    words = np.array([*array.dictionary.to_pylist(), None], dtype=object)
    places = array.indices.fill_null(len(words) - 1).to_numpy(zero_copy_only=False)
    values: list[Any] = words[places].tolist()
    return values


def _from_integers(array: Any) -> Iterable[Any]:
    numbers = array.cast(pa.int64())
    values = numbers.fill_null(0).to_numpy(zero_copy_only=False)
    if array.null_count:
        values = values.astype(object)
        values[numbers.is_null().to_numpy(zero_copy_only=False)] = None
    result: list[Any] = values.tolist()
    return result
