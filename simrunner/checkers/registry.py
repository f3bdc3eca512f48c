"""The literal registry of invariants. Its order breaks ties between findings at the same event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from simrunner.history.history import History
from simrunner.model.verdict import Judgement


@dataclass(frozen=True, slots=True)
class Checker:
    """One invariant and the pure function that decides it."""

    name: str
    title: str
    """The invariant in one line of plain words."""
    check: Callable[[History], Judgement]
    needs_operation: str | None = None
    """The operation without which the invariant is `not offered`."""


CHECKERS: tuple[Checker, ...] = ()
