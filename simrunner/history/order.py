"""The declared total order of claims, as the column `order_key` writes it."""

from __future__ import annotations

import json

Place = tuple[int | float | str, ...]
"""A job's place in the order; the smaller one is claimed first. For each column: the sort of its value, then the value."""

_NUMBER, _TEXT, _NULL = 0, 1, 2


def place_of(order_key: str) -> Place:
    """Return the place that an `order_key` (a JSON array) stands for. Raises ValueError if it is none.

    Numbers come before texts and null last, so that keys of any content compare.
    """
    place: list[int | float | str] = []
    for value in json.loads(order_key):
        place += _part(value)
    return tuple(place)


def _part(value: object) -> tuple[int, int | float | str]:
    if isinstance(value, int | float):
        return _NUMBER, value
    if isinstance(value, str):
        return _TEXT, value
    if value is None:
        return _NULL, 0
    raise ValueError(f"an order key holds numbers and texts, not {value!r}")
