"""no-job-lost: at the end every acknowledged job of the cohort has ended, by somebody who ran it; no other job is stuck.

An absence is told at the job's last event, not at the end of the run: that is where it went missing.
"""

from __future__ import annotations

from collections.abc import Iterator

from simrunner.checkers.wording import judged, moment
from simrunner.history.endings import succeeds
from simrunner.history.history import History
from simrunner.history.intervals import owner_of
from simrunner.model.design import Ownership
from simrunner.model.event import Event
from simrunner.model.job import TERMINAL
from simrunner.model.verdict import Finding, Judgement

NAME = "no-job-lost"

_OF_A_JOB = frozenset({"seed", "transition", "renewal", "effect", "work-start", "work-end"})
"""The kinds that tell where a job stands. Probes and refused writes name it too, but do not move it."""


def check(history: History) -> Judgement:
    """Judge every acknowledged job of the cohort; jobs outside it only must not be stuck. An unfinished run shows nothing."""
    cohort = {job: changes for job, changes in history.changes.items() if _in_cohort(changes, history)}
    if not history.context.completed:
        return Judgement(len(cohort), ())
    found: list[Finding] = []
    for job, changes in history.changes.items():
        found.extend(_lost(job, changes, history) if job in cohort else _stuck(job, changes, history))
    return judged(len(cohort), found)


def _in_cohort(changes: tuple[Event, ...], history: History) -> bool:
    first = changes[0]
    if first.kind == "seed":
        return history.context.cohort == "all" or first.cohort is not None
    return history.context.cohort == "all" and _acknowledged(first, history)


def _acknowledged(inserted: Event, history: History) -> bool:
    transaction = history.transactions.get(inserted.txn) if inserted.txn is not None else None
    return transaction is not None and transaction.acknowledged


def _lost(job: int, changes: tuple[Event, ...], history: History) -> Iterator[Finding]:
    last = _last_state(changes)
    if succeeds(last, history.context.policies):
        if not _ran(job, last, history):
            yield _finding(job, last, f"{_doer(last)} ended it with success, but had never claimed it", history)
    elif _vanished(last):
        yield _finding(job, last, f"its row vanished from state {last.from_state} by {_doer(last)}", history)
    elif last.to_state is not None and last.to_state not in TERMINAL:
        yield _finding(job, last, _where(changes, history), history)


def _stuck(job: int, changes: tuple[Event, ...], history: History) -> Iterator[Finding]:
    last = _last_state(changes)
    if _vanished(last) and not succeeds(last, history.context.policies):
        yield _finding(job, last, f"its row vanished from state {last.from_state} by {_doer(last)}", history)
    elif last.to_state == "claimed" and _abandoned(changes, history):
        yield _finding(job, last, _where(changes, history), history)


def _vanished(last: Event) -> bool:
    """Whether a job's row was deleted although the job had not ended."""
    return last.to_state is None and last.from_state not in TERMINAL


def _last_state(changes: tuple[Event, ...]) -> Event:
    """The seed or transition that led to a job's last state."""
    return next((event for event in reversed(changes) if event.kind != "renewal"), changes[-1])


def _doer(event: Event) -> str:
    operation = "" if event.operation is None else f"{event.operation} of "
    return f"{operation}{event.actor}" if event.incarnation is None else f"{operation}{owner_of(event)}"


def _ran(job: int, done: Event, history: History) -> bool:
    """Whether whoever ended a job with success had claimed or worked on it before: the process, or the token it presented."""
    who = owner_of(done)
    before = [event for event in history.by_job[job] if event.seq < done.seq]
    claims = [interval for interval in history.ownership.get(job, ()) if interval.claim.seq < done.seq]
    tokens = {interval.token for interval in claims if interval.token is not None}
    presented = any(event.kind == "sent" and event.txn == done.txn and event.token in tokens for event in before)
    worked = any(_works(event) and owner_of(event) == who for event in before)
    return presented or worked or any(interval.owner == who for interval in claims)


def _works(event: Event) -> bool:
    return event.kind == "work-start" or (event.kind == "read" and event.operation == "claim")


def _abandoned(changes: tuple[Event, ...], history: History) -> bool:
    """Whether a claimed job is neither held under a valid lease nor still waiting for the recovery that ends a lapsed one."""
    last, end = changes[-1], history.events[-1]
    if last.lease_until is None or history.context.ownership is not Ownership.LEASE:
        return _death(changes, history) is not None
    if end.virtual_time is None or end.virtual_time <= last.lease_until:
        return False
    recoveries = [event for event in history.of_kind("ok") if event.operation in ("recover", "recover-batch", "recover-read")]
    return not recoveries or any((event.txn_time or 0) > last.lease_until for event in recoveries if event.seq > last.seq)


def _owner(changes: tuple[Event, ...], history: History) -> str | None:
    """The process that claimed a job that is claimed at the end."""
    last = _last_state(changes)
    if last.job is None or last.to_state != "claimed":
        return None
    intervals = history.ownership.get(last.job, ())
    return intervals[-1].owner if intervals and intervals[-1].end is None else last.owner


def _death(changes: tuple[Event, ...], history: History) -> Event | None:
    """The `process-end` of the owner, if it died before the run was wound up."""
    owner = _owner(changes, history)
    ended = history.lives[owner][1] if owner is not None and owner in history.lives else None
    return None if ended is None or ended.phase == "end" else ended


def _where(changes: tuple[Event, ...], history: History) -> str:
    last = _last_state(changes)
    since = f"since event {last.seq} ({moment(last.virtual_time)}, phase {last.phase})"
    if last.to_state == "ready":
        claimed = last.job in history.ownership
        return f"it is ready {since}, and " + ("was not claimed again" if claimed else "was never claimed")
    owner, death = _owner(changes, history), _death(changes, history)
    if death is None:
        return f"it is {last.to_state} {since} by {owner or 'nobody known'}"
    return f"it is {last.to_state} {since} by {owner}, which is dead since event {death.seq} ({death.value})"


def _finding(job: int, last: Event, what: str, history: History) -> Finding:
    told = [event.seq for event in history.by_job[job] if event.kind in _OF_A_JOB]
    death = _death(history.changes[job], history)
    witness = sorted({last.seq, told[-1]} | ({death.seq} if death is not None else set()))
    return Finding(NAME, told[-1], job, tuple(witness), f"Job {{job:{job}}} has no proper end: {what}.")
