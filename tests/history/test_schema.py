"""The Arrow schema of events: types as documented, and a way back that loses nothing."""

import pyarrow as pa
import pytest
from hypothesis import given, settings

from simrunner.history.schema import SCHEMA, TIMES, VERSION_KEY, VOCABULARIES, from_table, to_table
from simrunner.model.event import SCHEMA_VERSION, Event
from tests.store.strategies import histories
from tests.store.synthetic import synthetic


def test_columns_are_those_of_event_in_order() -> None:
    assert tuple(SCHEMA.names) == Event._fields


def test_version_is_in_the_metadata() -> None:
    assert SCHEMA.metadata[VERSION_KEY] == str(SCHEMA_VERSION).encode()


def test_only_closed_vocabularies_are_dictionary_encoded() -> None:
    assert [field.name for field in SCHEMA if pa.types.is_dictionary(field.type)] == list(VOCABULARIES)


def test_times_are_microseconds_in_utc() -> None:
    assert {str(SCHEMA.field(name).type) for name in TIMES} == {"timestamp[us, tz=UTC]"}
    assert [field.name for field in SCHEMA if pa.types.is_timestamp(field.type)] == list(TIMES)


@settings(deadline=None)
@given(histories())
def test_round_trip(events: list[Event]) -> None:
    table = to_table(events)
    assert table.schema.equals(SCHEMA, check_metadata=True)
    assert from_table(table) == events


def test_values_come_back_as_plain_python() -> None:
    for event in from_table(to_table(synthetic(3))):
        assert {type(value) for value in event} <= {int, str, type(None)}


def test_chunks_with_different_dictionaries() -> None:
    first = Event(1, "safety", actor="worker-a")
    second = Event(2, "safety", actor="worker-b", operation="claim")
    assert from_table(pa.concat_tables([to_table([first]), to_table([second])])) == [first, second]


def test_a_slice_of_a_table() -> None:
    events = synthetic(5)
    assert from_table(to_table(events).slice(7, 40)) == events[7:47]


def test_a_value_that_does_not_fit_is_refused() -> None:
    with pytest.raises((pa.ArrowInvalid, OverflowError)):
        to_table([Event(1, "safety", rows=2**31)])
