"""The witness of a finding as rows for printing: the few events that show the violation, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from simrunner.analysis.names import job_name, token_name
from simrunner.checkers.wording import moment
from simrunner.history.context import Context
from simrunner.limits import LIMITS
from simrunner.model.event import Event
from simrunner.model.verdict import Finding


class WitnessRow(NamedTuple):
    """One event of a witness. Every column is text, empty where the event has nothing to say."""

    seq: str
    time: str
    """Virtual time, UTC, milliseconds."""
    who: str
    what: str
    """Kind and operation, e.g. `ok claim 1`, `transition claimed -> ready`."""
    job: str
    token: str
    detail: str


def witness_rows(finding: Finding, events: Sequence[Event], context: Context) -> tuple[WitnessRow, ...]:
    """Return the rows of a finding's witness in order of seq, at most `LIMITS.witness_events_max`.

    `events` are those of the whole run, in which event `seq` stands at place `seq - 1`.
    """
    shown = finding.witness[: LIMITS.witness_events_max]
    return tuple(_row(events[seq - 1], context) for seq in shown if 0 < seq <= len(events))


def _row(event: Event, context: Context) -> WitnessRow:
    return WitnessRow(
        str(event.seq),
        moment(event.virtual_time),
        _who(event),
        _what(event),
        job_name(context, event.job) or "",
        token_name(context, event.token) or "",
        _detail(event),
    )


def _who(event: Event) -> str:
    if event.actor is None or event.incarnation is None:
        return event.actor or ""
    return f"{event.actor}.{event.incarnation}"


def _what(event: Event) -> str:
    parts = [event.kind, event.operation or ""]
    if event.kind == "transition":
        parts.append(f"{event.from_state or 'no row'} -> {event.to_state or 'no row'}")
    else:
        parts.append(event.value or "")
    return " ".join(part for part in parts if part)


def _detail(event: Event) -> str:
    said = (
        ("generation", event.generation),
        ("attempt", event.attempt),
        ("owner", event.owner),
        ("lease until", None if event.lease_until is None else moment(event.lease_until)),
        ("rank", event.rank),
        ("rows", event.rows),
        ("locked by" if event.kind == "probe" else "blocked by", event.blocked_by),
        ("at", event.crash_point),
        ("sqlstate", event.sqlstate),
    )
    return ", ".join(f"{name} {value}" for name, value in said if value is not None)
