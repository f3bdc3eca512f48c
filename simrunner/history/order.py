"""The declared total order of claims, as the column `order_key` writes it."""

from __future__ import annotations

import json

Place = tuple[tuple[int, int | float | str], ...]
"""A job's place in the order; the smaller one is claimed first."""

_NULL, _NUMBER, _TEXT = 2, 0, 1


def place_of(order_key: str) -> Place:
    """Return the place that an `order_key` (a JSON array) stands for. Raises ValueError if it is none.

    Numbers come before texts and null last, so that keys of any content compare.
    """
    return tuple(_part(value) for value in json.loads(order_key))


def _part(value: object) -> tuple[int, int | float | str]:
    if value is None:
        return _NULL, 0
    if isinstance(value, int | float):
        return _NUMBER, value
    if isinstance(value, str):
        return _TEXT, value
    raise ValueError(f"an order key holds numbers and texts, not {value!r}")
