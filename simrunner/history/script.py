"""The steps of a scripted run with the events that each caused: what was asked and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from simrunner.model.event import OBSERVER, Event
from simrunner.model.job import JobState
from simrunner.model.workload import ScriptStep

NOT_TAKEN = "not taken"
"""Value of the `report` event of a step whose actor is dead or still blocked."""
CONTROL = frozenset({"BEGIN", "COMMIT", "ROLLBACK"})


@dataclass(frozen=True)
class ScriptAction:
    """One step of a script and all that its actor did because of it, also what happened only when another freed it."""

    number: int
    """From 1, as in the events' column `round`."""
    step: ScriptStep
    events: tuple[Event, ...]

    @property
    def taken(self) -> bool:
        """Whether its actor could take it."""
        return not any(event.kind == "report" and event.value == NOT_TAKEN for event in self.events)

    @cached_property
    def outcomes(self) -> tuple[Event, ...]:
        """The `ok` and `failed` events of its own statements, in order, without BEGIN, COMMIT and ROLLBACK around them."""
        return tuple(one for one in self.events if one.kind in ("ok", "failed") and one.value not in CONTROL)

    @property
    def blocked(self) -> Event | None:
        """Where it began to wait; None: it did not. Of a `look`, the first job that it saw, if somebody had locked it."""
        if self.step.do == "look":
            return next((event for event in self.events[:1] if event.blocked_by is not None), None)
        return next((event for event in self.events if event.kind == "blocked"), None)

    @property
    def freed(self) -> Event | None:
        """Where its wait ended."""
        return next((event for event in self.events if event.kind == "freed"), None)

    @property
    def failed(self) -> Event | None:
        """Its first statement that failed."""
        return next((event for event in self.events if event.kind == "failed"), None)

    @property
    def rows(self) -> int | None:
        """Rows that its last successful statement returned or changed. None: there is none."""
        return next((event.rows for event in reversed(self.outcomes) if event.kind == "ok"), None)

    @property
    def jobs(self) -> tuple[int, ...]:
        """Ordinals of the jobs that it returned, in order; of a `look`, those that it saw."""
        kind = "probe" if self.step.do == "look" else "read"
        return tuple(event.job for event in self.events if event.kind == kind and event.job is not None)

    @property
    def report(self) -> Event | None:
        """The number or the plan that it reported; of a `report` the number of ready jobs."""
        reports = (event for event in self.events if event.kind == "report" and event.value != NOT_TAKEN)
        return next((event for event in reports if event.to_state in (None, JobState.READY)), None)


def actions_of(script: Sequence[ScriptStep], events: Iterable[Event]) -> tuple[ScriptAction, ...]:
    """Return every step of a script with its events.

    A step's events are those of its actor from the first in its round up to the actor's next step: what was blocked goes on
    in a later round. A step that could not be taken has the event that says so and leaves the actor's earlier step alone.
    """
    found: list[list[Event]] = [[] for _ in script]
    current: dict[str, int] = {}
    for event in events:
        actor = event.actor or OBSERVER
        number = event.round
        if number is None or number > len(script) or event.phase == "end":
            continue
        if (script[number - 1].actor or OBSERVER) == actor and current.get(actor, 0) < number:
            if event.kind == "report" and event.value == NOT_TAKEN:
                found[number - 1].append(event)
                continue
            current[actor] = number
        if current.get(actor, 0):
            found[current[actor] - 1].append(event)
    return tuple(ScriptAction(number, step, tuple(found[number - 1])) for number, step in enumerate(script, 1))
