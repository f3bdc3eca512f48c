"""What a shrunk case must still show: the same root cause, witnessed by the same kind of events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from simrunner.model.event import Event
from simrunner.model.verdict import Finding, RunVerdict, Verdict


class Failure(NamedTuple):
    """An invariant that is violated first, and the kinds of events that show it."""

    invariant: str
    witness: tuple[tuple[str, str], ...]
    """(kind, operation) of the witness's events, sorted, each once. A committed change of a job's row is one kind."""


def finding_of(verdict: RunVerdict) -> Finding | None:
    """Return the first finding of the root cause; None if nothing that is judged is violated."""
    if verdict.verdict is not Verdict.VIOLATED:
        return None
    return next((row.first for row in verdict.invariants if row.name == verdict.root_cause), None)


def failure_of(verdict: RunVerdict, events: Sequence[Event]) -> Failure | None:
    """Return how a run failed; None if it did not. `events` are those of the whole run."""
    finding = finding_of(verdict)
    if finding is None:
        return None
    kinds = {(_kind(events[seq - 1]), events[seq - 1].operation or "") for seq in finding.witness}
    return Failure(finding.invariant, tuple(sorted(kinds)))


def _kind(event: Event) -> str:
    """An event's kind. Whether a write changed a job's state or found it changed already is not what went wrong."""
    return "change" if event.kind in ("transition", "renewal") else event.kind
