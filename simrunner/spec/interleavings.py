"""All orders in which sessions can take their steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def interleavings(counts: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield every sequence in which index `i` occurs `counts[i]` times, in lexicographic order."""
    order: list[int] | None = [index for index, count in enumerate(counts) for _ in range(count)]
    while order is not None:
        yield tuple(order)
        order = _following(order)


def _following(order: Sequence[int]) -> list[int] | None:
    """Return the next sequence in lexicographic order: the last ascent is raised as little as possible, the rest sorted."""
    ascents = (index for index in reversed(range(len(order) - 1)) if order[index] < order[index + 1])
    at = next(ascents, None)
    if at is None:
        return None
    above = next(index for index in reversed(range(len(order))) if order[index] > order[at])
    changed = list(order)
    changed[at], changed[above] = changed[above], changed[at]
    return changed[: at + 1] + changed[:at:-1]
