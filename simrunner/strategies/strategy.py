"""The protocol of a strategy: two questions, answered from a View and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from simrunner.model.view import View


class Strategy(Protocol):
    """Produces the scheduling decisions of one run."""

    def next_actor(self, view: View) -> str:
        """Choose who takes the next step among `view.enabled()`, which is not empty."""

    def next_waiter(self, view: View, waiters: Sequence[str]) -> str:
        """Choose which of several waiters, all freed by the same step, goes first."""
