"""lease-clock: a stored expiry is the declared lease after the time of the transaction that wrote it.

That time is what `now()` told the transaction; recovery judges by the same clock. An expiry that another clock stamped, say the
client's, is too early or too late by the difference, however honestly everybody honours it.
"""

from __future__ import annotations

from simrunner.checkers.wording import deed, job, judged, moment, sentence
from simrunner.history.history import History
from simrunner.model.event import Event
from simrunner.model.verdict import Finding, Judgement

NAME = "lease-clock"


def check(history: History) -> Judgement:
    """Find stored expiries outside the declared lease and tolerance. Each claim and each renewed lease is an opportunity."""
    promises = history.context.promises
    lease_ms = promises.lease_ms or history.context.lease_ms
    stamped = [event for event in history.events if _stamps(event)]
    wrong = [event for event in stamped if abs(_length_us(event) - lease_ms * 1000) > promises.lease_tolerance_ms * 1000]
    return judged(len(stamped), [_finding(event, lease_ms) for event in wrong])


def _stamps(event: Event) -> bool:
    if event.lease_until is None or event.txn_time is None or event.to_state != "claimed":
        return False
    return event.kind == "transition" or (event.kind == "renewal" and "lease_until" in (event.value or "").split(","))


def _length_us(event: Event) -> int:
    return (event.lease_until or 0) - (event.txn_time or 0)


def _finding(event: Event, lease_ms: int) -> Finding:
    text = (
        f"{sentence(deed(event))} gave {job(event.job)} a lease until {moment(event.lease_until)}: {_length_us(event) / 1000:g}"
        f" ms after its own time, {moment(event.txn_time)}, instead of {lease_ms} ms."
    )
    return Finding(NAME, event.seq, event.job, (event.seq,), text)
