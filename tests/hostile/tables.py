"""Spoiling a Parquet file without damage to its bytes: another table that every checksum fits."""

from __future__ import annotations

import io
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

WORDS = ("", "x", "ready", "done", "../x", "\0", "claim", "[", "[1,", "null", '["a", 1]', "9" * 400)
NUMBERS = (None, 0, 1, -1, 2, 2**31 - 1, -(2**31), 2**40)
LONG = (2**63 - 1, -(2**63))


def parquet_changed(data: bytes, chance: Random) -> bytes:
    """Write the file again with one thing changed. What is no Parquet is returned as it is."""
    try:
        table = pq.read_table(pa.BufferReader(data))
    except (pa.ArrowException, OSError):
        return data
    way = chance.choice((_value, _value, _value, _value, _rows, _columns, _type, _metadata))
    try:
        table = way(table, chance)
    except (pa.ArrowException, OverflowError):
        return data
    target = io.BytesIO()
    pq.write_table(table, target)
    return target.getvalue()


def _value(table: pa.Table, chance: Random) -> pa.Table:
    """Change a value of one row; null too where the column does not say that it has none."""
    if not table.num_rows:
        return table
    place = chance.randrange(table.num_columns)
    field = table.schema.field(place)
    values = table.column(place).to_pylist()
    values[chance.randrange(len(values))] = _other(field.type, chance)
    array = _array(values, field.type)
    return table.set_column(place, field.with_nullable(True) if array.null_count else field, array)


def _array(values: list[Any], of_type: Any) -> Any:
    if pa.types.is_dictionary(of_type):
        return pa.array(values, of_type.value_type).dictionary_encode()
    return pa.array(values, of_type)


def _other(of_type: Any, chance: Random) -> Any:
    if pa.types.is_list(of_type):
        return chance.choice((None, [], [None], [1], [10**9]))
    if pa.types.is_string(of_type) or pa.types.is_dictionary(of_type):
        return chance.choice((None, *WORDS))
    return chance.choice(NUMBERS if of_type == pa.int32() else (*NUMBERS, *LONG))


def _rows(table: pa.Table, chance: Random) -> pa.Table:
    """Leave rows out, repeat them, or change their order."""
    places = list(range(table.num_rows))
    if places:
        match chance.randrange(4):
            case 0:
                del places[chance.randrange(len(places))]
            case 1:
                places.insert(chance.randrange(len(places)), chance.choice(places))
            case 2:
                places.reverse()
            case _:
                places = places[: chance.randrange(len(places))]
    return table.take(places)


def _columns(table: pa.Table, chance: Random) -> pa.Table:
    """Leave a column out, repeat one, or change their order or names."""
    names = list(table.column_names)
    match chance.randrange(4):
        case 0:
            return table.drop_columns([chance.choice(names)])
        case 1:
            place = chance.randrange(len(names))
            return table.append_column(table.schema.field(place), table.column(place))
        case 2:
            chance.shuffle(names)
            return table.select(names)
        case _:
            names[chance.randrange(len(names))] = chance.choice(WORDS)
            return table.rename_columns(names)


def _type(table: pa.Table, chance: Random) -> pa.Table:
    """Give a column another type."""
    place = chance.randrange(table.num_columns)
    other = chance.choice((pa.string(), pa.float64(), pa.int8(), pa.null(), pa.binary(), pa.timestamp("ns"), pa.large_string()))
    return table.set_column(place, table.column_names[place], pa.nulls(table.num_rows, other))


def _metadata(table: pa.Table, chance: Random) -> pa.Table:
    """Another version, or none."""
    return table.replace_schema_metadata(
        chance.choice((None, {b"simrunner.events.schema": chance.choice((b"3", b"0", b"", b"x", b"\xff", b"9" * 5000))}))
    )
