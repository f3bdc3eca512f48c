"""Real time, for figures only."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter


def timed(work: Callable[[], object]) -> float:
    """Seconds that it takes."""
    began = perf_counter()
    work()
    return perf_counter() - began
