"""Comparing two histories event by event."""

from __future__ import annotations

from simrunner.search.replay import first_difference
from tests.store.folders import EVENTS


def test_equal_histories() -> None:
    assert first_difference(EVENTS, list(EVENTS)) is None


def test_observational_columns_do_not_matter() -> None:
    other = [event._replace(wall_time=1, os_pid=2, backend_pid=3, xid=4, note="x", duration_us=5) for event in EVENTS]
    assert first_difference(EVENTS, other) is None


def test_the_first_of_several_differences_is_named() -> None:
    other = [event if event.seq < 7 else event._replace(job=99, value="x") for event in EVENTS]
    difference = first_difference(EVENTS, other)
    assert difference is not None
    assert difference.seq == 7
    assert f"job was {EVENTS[6].job!r}, is 99" in difference.words
    assert f"value was {EVENTS[6].value!r}, is 'x'" in difference.words


def test_a_history_that_ends_too_early() -> None:
    assert first_difference(EVENTS, EVENTS[:-1]) == (len(EVENTS), "the new history has ended there")
    assert first_difference(EVENTS[:3], EVENTS) == (4, "the old history has ended there")
