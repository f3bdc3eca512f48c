"""ownership-complete: a committed row says who owns it exactly while it is owned, and when it was completed."""

from __future__ import annotations

from simrunner.checkers.wording import deed, job, judged, sentence
from simrunner.history.history import History
from simrunner.model.design import Ownership
from simrunner.model.event import Event
from simrunner.model.job import Held, JobState
from simrunner.model.verdict import Finding, Judgement

NAME = "ownership-complete"
_CLAIMED = Held.OWNER | Held.TOKEN | Held.CLAIMED_AT
_WORDS = (
    (Held.OWNER, "owner"),
    (Held.TOKEN, "token"),
    (Held.CLAIMED_AT, "claim time"),
    (Held.LEASE, "lease"),
    (Held.COMPLETED_AT, "completion time"),
)


def check(history: History) -> Judgement:
    """Find committed rows that lack an ownership column or keep one. Each claimed, ready or done row is an opportunity."""
    claimed = _CLAIMED | Held.LEASE if history.context.ownership is Ownership.LEASE else _CLAIMED
    rows = [event for event in history.events if event.kind in ("transition", "renewal") and _judged(event)]
    findings = [finding for event in rows if (finding := _judge(event, claimed))]
    return judged(len(rows), findings)


def _judged(event: Event) -> bool:
    return event.held is not None and event.to_state in (JobState.CLAIMED, JobState.READY, JobState.DONE)


def _judge(event: Event, claimed: Held) -> Finding | None:
    held = Held(event.held or 0)
    if event.to_state == JobState.READY:
        wrong, verb = held & (_CLAIMED | Held.LEASE), "with"
    else:
        needed = claimed if event.to_state == JobState.CLAIMED else Held.COMPLETED_AT
        wrong, verb = needed & ~held, "without"
    return _finding(event, verb, wrong) if wrong else None


def _finding(event: Event, verb: str, wrong: Held) -> Finding:
    columns = ", ".join(word for flag, word in _WORDS if flag in wrong)
    text = f"{sentence(deed(event))} left {job(event.job)} {event.to_state} {verb} {columns}."
    return Finding(NAME, event.seq, event.job, (event.seq,), text)
