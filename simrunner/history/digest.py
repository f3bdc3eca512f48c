"""The canonical hash of a history: SHA-256 over JSON lines of its canonical columns.

One line per event: a JSON array of the canonical columns in schema order, without spaces, ended by a line feed.
Integers are decimal, times are microseconds since 1970-01-01 UTC, text is UTF-8 and escaped only where JSON demands it.
So a few lines of any language can recompute it from the Parquet files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

from simrunner.model.event import CANONICAL, Event

_CANONICAL_COLUMNS = len(CANONICAL)
"""The canonical columns come first in Event; a test holds that fast."""


class Digest:
    """The hash of a history that is still growing."""

    def __init__(self) -> None:
        self._sha256 = hashlib.sha256()
        self._encoder = msgspec.json.Encoder()

    def update(self, event: Event) -> None:
        """Add the next event."""
        self._sha256.update(self._encoder.encode(event[:_CANONICAL_COLUMNS]) + b"\n")

    def hexdigest(self) -> str:
        """Return the hash of the events so far: 64 hexadecimal digits."""
        return self._sha256.hexdigest()


def history_sha256(events: Iterable[Event]) -> str:
    """Return the canonical hash of a history as 64 hexadecimal digits."""
    digest = Digest()
    for event in events:
        digest.update(event)
    return digest.hexdigest()
