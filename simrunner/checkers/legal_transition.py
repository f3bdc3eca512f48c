"""legal-transition: jobs change their state only as the design declares."""

from __future__ import annotations

from simrunner.checkers.wording import deed, job, judged, sentence
from simrunner.history.history import History
from simrunner.model.event import SERVER, Event
from simrunner.model.verdict import Finding, Judgement

NAME = "legal-transition"


def check(history: History) -> Judgement:
    """Find transitions outside the declared table. Each transition is an opportunity, but for those of a server restart."""
    transitions = [event for event in history.of_kind("transition") if event.actor != SERVER]
    allowed = history.context.transitions
    return judged(
        len(transitions), [_finding(event) for event in transitions if (event.from_state, event.to_state) not in allowed]
    )


def _finding(event: Event) -> Finding:
    change = f"from {event.from_state or 'no row'} to {event.to_state or 'no row'}"
    text = f"{sentence(deed(event))} took {job(event.job)} {change}, which the design does not declare."
    return Finding(NAME, event.seq, event.job, (event.seq,), text)
