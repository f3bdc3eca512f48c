"""Words that explanations share: placeholders for jobs and tokens, virtual times, and the judgement they go into."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from simrunner.history.intervals import owner_of
from simrunner.model.event import Event
from simrunner.model.verdict import Finding, Judgement

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def job(ordinal: int | None) -> str:
    """Return `job` and the placeholder that the report replaces by its name."""
    return "a job" if ordinal is None else f"job {{job:{ordinal}}}"


def token(ordinal: int | None) -> str:
    """Return `token` and the placeholder that the report replaces by its text."""
    return "no token" if ordinal is None else f"token {{token:{ordinal}}}"


def deed(event: Event) -> str:
    """Return whose transaction of which operation caused an event."""
    return f"the {event.operation or 'unnamed'} transaction of {owner_of(event)}"


def moment(time_us: int | None) -> str:
    """Return a virtual time as text in UTC, e.g. `2026-09-22 06:00:00.001`."""
    if time_us is None:
        return "an unknown time"
    return (_EPOCH + timedelta(microseconds=time_us)).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def sentence(text: str) -> str:
    """Return the text with a capital first letter."""
    return text[:1].upper() + text[1:]


def judged(opportunities: int, findings: Iterable[Finding]) -> Judgement:
    """Return the judgement with its findings in the order of their events."""
    return Judgement(opportunities, tuple(sorted(findings, key=lambda finding: finding.seq)))
