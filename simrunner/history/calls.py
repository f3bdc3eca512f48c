"""Statements of a history: each `sent` with its candidates, waits, outcome and returned rows."""

from __future__ import annotations

from collections.abc import Iterable

from simrunner.history.intervals import Call
from simrunner.model.event import Event


class _Pending:
    """A call that is being put together."""

    __slots__ = ("blocked", "freed", "outcome", "probes", "reads", "reports", "sent")

    def __init__(self, sent: Event, probes: list[Event]) -> None:
        self.sent = sent
        self.probes = probes
        self.outcome: Event | None = None
        self.blocked: list[Event] = []
        self.freed: list[Event] = []
        self.reads: list[Event] = []
        self.reports: list[Event] = []

    def add(self, event: Event) -> None:
        if event.kind == "blocked":
            self.blocked.append(event)
        elif event.kind == "freed":
            self.freed.append(event)
        elif event.kind == "read":
            self.reads.append(event)
        elif event.kind == "report":
            self.reports.append(event)
        elif self.outcome is None:
            self.outcome = event

    def call(self) -> Call:
        parts = (self.probes, self.blocked, self.freed, self.reads, self.reports)
        return Call(self.sent, self.outcome, *(tuple(part) for part in parts))


_PARTS = frozenset({"blocked", "freed", "read", "report", "ok", "failed", "unknown"})


def calls_of(events: Iterable[Event]) -> tuple[Call, ...]:
    """Return all statements in the order in which they were sent.

    A session has one statement at a time, so the parts of a call are the events of its session up to the next `sent`.
    """
    found: list[_Pending] = []
    current: dict[int | None, _Pending] = {}
    probes: dict[str | None, list[Event]] = {}
    for event in events:
        if event.kind == "probe":
            probes.setdefault(event.actor, []).append(event)
        elif event.kind == "sent":
            pending = _Pending(event, probes.pop(event.actor, []))
            found.append(pending)
            current[event.session] = pending
        elif event.kind in _PARTS and event.operation is not None and event.session in current:
            current[event.session].add(event)
    return tuple(pending.call() for pending in found)
