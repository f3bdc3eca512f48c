"""Hypothesis strategies: which input is spoilt, and how. Smaller is: fewer changes."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from tests.hostile.kinds import Input, Kind
from tests.hostile.mutations import Mutation
from tests.hostile.trying import Attempt

_PLACES = st.integers(0, 2**32)


def attempts(kind: Kind, inputs: Sequence[Input]) -> st.SearchStrategy[Attempt]:
    """Return the attempts of a kind: one to three changes of one of the inputs."""
    ways: tuple[Mutation | None, ...] = (*kind.ways, None, None) if kind.spoils_places else kind.ways
    changes = st.lists(st.tuples(st.sampled_from(ways), _PLACES), min_size=1, max_size=3)
    return st.builds(_attempt, st.sampled_from(inputs), changes, _PLACES)


def _attempt(one: Input, changes: list[tuple[Mutation | None, int]], choice: int) -> Attempt:
    return Attempt(one, tuple(way for way, _ in changes), tuple(place for _, place in changes), choice)
