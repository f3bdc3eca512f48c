"""All that has a name: workloads, designs, invariants, faults, strategies, each with its title."""

from __future__ import annotations

from collections.abc import Callable

from simrunner.checkers.registry import CHECKERS
from simrunner.checkers.undecided import UNDECIDED
from simrunner.config import list_designs, list_workloads
from simrunner.faults.registry import FAULTS
from simrunner.strategies.registry import STRATEGIES

Titles = dict[str, str]
"""Name -> title, in the order in which they are shown."""


def _invariants() -> Titles:
    decided = {checker.name: checker.title for checker in CHECKERS}
    return {**decided, **{name: f"{title} (no checker yet)" for name, title in UNDECIDED.items()}}


CATALOG: dict[str, Callable[[], Titles]] = {
    "workloads": lambda: {entry.name: entry.title for entry in list_workloads()},
    "designs": lambda: {entry.name: entry.title for entry in list_designs()},
    "invariants": _invariants,
    "faults": lambda: {fault.name: fault.title for fault in FAULTS.values()},
    "strategies": lambda: {entry.name: entry.title for entry in STRATEGIES},
}
"""Kind, as `simrunner list` names it, -> its names and titles."""
