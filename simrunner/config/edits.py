"""Replaces pieces of a text by offset."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Edit(NamedTuple):
    """Replace text[start:end] by `new`."""

    start: int
    end: int
    new: str


def apply(text: str, edits: Iterable[Edit], begin: int = 0, end: int | None = None) -> str:
    """Return text[begin:end] with the edits made. Offsets count in the whole text; edits must not overlap.

    Line breaks inside a replaced piece are kept behind the new one, so that later lines keep their numbers.
    """
    pieces: list[str] = []
    done = begin
    for edit in sorted(edits):
        pieces += [text[done : edit.start], edit.new, "\n" * text.count("\n", edit.start, edit.end)]
        done = edit.end
    return "".join([*pieces, text[done:end]])
