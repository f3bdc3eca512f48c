"""fenced-writes: an owner whose claim was ended by another changes nothing any more.

Where a late success does not count (`late_success_counts = false`), an owner whose lease has lapsed completes nothing either.
"""

from __future__ import annotations

from collections.abc import Sequence

from simrunner.checkers.wording import deed, job, judged, moment, token
from simrunner.history.history import History
from simrunner.history.intervals import Call, OwnershipInterval, owner_of
from simrunner.model.design import Ownership
from simrunner.model.event import Event
from simrunner.model.verdict import Finding, Judgement

NAME = "fenced-writes"
_DID = {"complete": "completed", "fail": "failed", "release": "released", "heartbeat": "renewed the lease of"}


def check(history: History) -> Judgement:
    """Find late writes that changed the job. Each write that took effect or was refused after the loss is an opportunity."""
    late = [(call, lost) for call in history.writes if (lost := _lost_before(history, call)) is not None]
    writes = _writes_by_job(history)
    findings = []
    for call, lost in late:
        trace = _trace(history, call, lost)
        if trace is not None:
            findings.append(_finding(history, call, lost, trace, writes[call.sent.job]))
    lapsed = _lapsed(history)
    findings += [_lapsed_finding(call, held, end) for call, held, end in lapsed if end is not None]
    return judged(len(late) + len(lapsed), findings)


def _lapsed(history: History) -> list[tuple[Call, OwnershipInterval, Event | None]]:
    """Completions that come after the lease of a claim which nobody has ended, where that is too late, and what they changed."""
    if history.context.policies.late_success_counts or history.context.ownership is not Ownership.LEASE:
        return []
    found: list[tuple[Call, OwnershipInterval, Event | None]] = []
    for call in history.writes:
        held = _held(history, call.sent) if call.sent.operation == "complete" else None
        if held is None or not held.open_at(call.sent.seq) or held.ended_by_another:
            continue
        lease = held.lease_at(call.sent.seq)
        if lease is not None and call.sent.txn_time is not None and call.sent.txn_time > lease:
            found.append((call, held, held.end if held.end is not None and held.end.txn == call.sent.txn else None))
    return found


def _lapsed_finding(call: Call, held: OwnershipInterval, end: Event) -> Finding:
    source = held.lease_source(call.sent.seq)
    text = (
        f"{owner_of(call.sent)} completed {job(held.job)} with {token(held.token)} at {moment(call.sent.txn_time)}, although its"
        f" lease had lapsed at {moment(source.lease_until)}: by the design's policy such a success does not count."
    )
    return Finding(NAME, end.seq, held.job, tuple(sorted({held.claim.seq, source.seq, call.sent.seq, end.seq})), text)


def _lost_before(history: History, call: Call) -> OwnershipInterval | None:
    """Return the claim in whose name a write was sent, if another had ended it before the write had its outcome."""
    held = _held(history, call.sent)
    if held is None or held.end is None or held.ended_by_owner:
        return None
    outcome = call.outcome or call.sent
    return held if held.end.seq < outcome.seq or _trace(history, call, held) is not None else None


def _held(history: History, sent: Event) -> OwnershipInterval | None:
    """Return the claim that a write is about: by its token, else the last claim of the job by the same process."""
    if sent.job is None:
        return None
    if sent.token is not None:
        return history.interval_of(sent.job, sent.token, sent.seq)
    own = (interval for interval in reversed(history.ownership.get(sent.job, ())) if interval.claim.seq < sent.seq)
    return next((interval for interval in own if interval.owner == owner_of(sent)), None)


def _trace(history: History, call: Call, lost: OwnershipInterval) -> Event | None:
    """Return the first committed change that a write made to the job after the claim had ended."""
    if lost.end is None or call.sent.txn is None:
        return None
    for trace in history.transactions[call.sent.txn].traces:
        if trace.kind != "effect" and trace.job == call.sent.job and trace.seq > lost.end.seq:
            return trace
    return None


def _writes_by_job(history: History) -> dict[int | None, list[Call]]:
    found: dict[int | None, list[Call]] = {}
    for call in history.writes:
        found.setdefault(call.sent.job, []).append(call)
    return found


def _finding(history: History, call: Call, lost: OwnershipInterval, trace: Event, writes: Sequence[Call]) -> Finding:
    sent, end = call.sent, lost.end
    if end is None:
        raise ValueError("a lost claim has an end")
    owner = history.owner_at(lost.job, trace.seq)
    refused = None if owner is None else _refused(owner, trace, writes)
    did = _DID.get(sent.operation or "", "changed")
    text = (
        f"{owner_of(sent)} {did} {job(sent.job)} with {token(lost.token)}, although {deed(end)} had ended that claim at "
        f"{moment(end.txn_time)}. {_then(owner, refused)}"
    )
    witness = {lost.claim.seq, end.seq, sent.seq, trace.seq} | ({refused.seq} if refused else set())
    return Finding(NAME, trace.seq, sent.job, tuple(sorted(witness)), text)


def _refused(owner: OwnershipInterval, trace: Event, writes: Sequence[Call]) -> Event | None:
    """Return the `ok` without effect of a later write by the true owner."""
    for call in writes:
        own = call.sent.token == owner.token and call.sent.token is not None and call.sent.seq > trace.seq
        if own and call.outcome is not None and call.succeeded and call.outcome.rows == 0:
            return call.outcome
    return None


def _then(owner: OwnershipInterval | None, refused: Event | None) -> str:
    if owner is None:
        return "Nobody owned the job at that moment."
    whose = f"The job belonged to {owner.owner} with {token(owner.token)}"
    if refused is not None:
        return f"{whose}, whose own {refused.operation} was then refused."
    return f"{whose}, of whom no later write was refused."
