"""attempts-accounted: a job is claimed at most as often as its maximum, and its stored counter tells how often it was.

What the counter counts is the design's choice: claims, or failed attempts; and whether a recovery counts by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from simrunner.checkers.wording import judged
from simrunner.history.history import History
from simrunner.history.ownership import is_claim
from simrunner.model.design import Policies, Promises
from simrunner.model.event import SERVER, Event
from simrunner.model.verdict import Finding, Judgement

NAME = "attempts-accounted"

_RECOVERY = frozenset({"recover", "recover-batch", "recover-write"})


def check(history: History) -> Judgement:
    """Judge every claim: against the maximum that the row states or the design promises, and against its counter if any."""
    maxima = _maxima(history)
    executed = {event.job for event in history.of_kind("work-start")}
    found: list[Finding] = []
    for job, changes in history.changes.items():
        found.extend(_judge(job, changes, maxima.get(job, _maximum(history)), job in executed, history))
    return judged(len(history.claims), found)


def _maximum(history: History) -> int | None:
    """The maximum of a job whose own row does not tell: the larger of what is promised and what the workload asked for."""
    promised = history.context.promises.max_attempts
    return None if promised is None else max(promised, history.context.max_attempts)


def _maxima(history: History) -> dict[int, int]:
    """The maximum that each job's final row states."""
    rows = history.context.final_jobs or ()
    return {job: row.max_attempts for job, row in rows if row.max_attempts is not None}


@dataclass(slots=True)
class _Account:
    """One job's claims and charges so far."""

    base: int
    """What the counter said before the first claim."""
    charged: int = 0
    """What the counter should have risen by."""
    generation: int = 0
    last_claim: Event | None = None
    miscounted: bool = False


def _judge(job: int, changes: tuple[Event, ...], maximum: int | None, executed: bool, history: History) -> Iterator[Finding]:
    account = _Account(changes[0].attempt or 0)
    for event in changes:
        if event.actor == SERVER:  # claims that a crash undid have taken what they counted along
            account.charged = account.charged if event.attempt is None else event.attempt - account.base
            continue
        claimed = event.kind == "transition" and is_claim(event, account.generation)
        if maximum is not None:
            yield from _against_maximum(event, account, maximum, claimed=claimed, executed=executed)
        account.charged += _charge(event, claimed, history.context.promises, history.context.policies)
        account.generation = event.generation if event.generation is not None else account.generation
        account.last_claim = event if claimed else account.last_claim
        yield from _against_counter(job, event, account)


def _charge(event: Event, claimed: bool, promises: Promises, policies: Policies) -> int:
    """By how much a change should raise the counter."""
    if claimed and (promises.attempt_counted_at == "claim" or event.to_state == "claimed"):
        return int(promises.attempt_counted_at == "claim")
    if not claimed and (event.kind != "transition" or event.from_state != "claimed"):
        return 0
    if event.operation in _RECOVERY:
        return int(policies.recovery_charges_attempt)
    return int(promises.attempt_counted_at == "failure" and event.operation == "fail")


def _against_maximum(event: Event, account: _Account, maximum: int, *, claimed: bool, executed: bool) -> Iterator[Finding]:
    if claimed and account.charged >= maximum:
        text = (
            f"Job {{job:{event.job}}} was claimed for the {_nth(account.generation + 1)} time by {event.actor}: "
            f"its maximum of {maximum} was already used up."
        )
        yield Finding(NAME, event.seq, event.job, _witness(account.last_claim, event), text)
    if event.kind == "transition" and event.to_state == "failed" and not executed and account.charged < maximum:
        text = (
            f"Job {{job:{event.job}}} was given up after {account.generation} of {maximum} claims by {event.operation} "
            f"of {event.actor}, and nobody ever worked on it."
        )
        yield Finding(NAME, event.seq, event.job, _witness(account.last_claim, event), text)


def _against_counter(job: int, event: Event, account: _Account) -> Iterator[Finding]:
    """Compare the stored counter; a difference is told once, where it begins."""
    expected = account.base + account.charged
    if event.attempt is None or event.to_state is None or account.miscounted or event.attempt == expected:
        return
    account.miscounted = True
    side = "below" if event.attempt < expected else "above"
    text = (
        f"The stored counter of job {{job:{job}}} is {event.attempt} after {account.generation} claims "
        f"(last change: {event.operation} of {event.actor}); it should be {expected}, so it is {side} the truth."
    )
    yield Finding(NAME, event.seq, job, _witness(account.last_claim, event), text)


def _witness(claim: Event | None, event: Event) -> tuple[int, ...]:
    return (event.seq,) if claim is None or claim is event else (claim.seq, event.seq)


def _nth(count: int) -> str:
    endings = {1: "st", 2: "nd", 3: "rd"}
    return f"{count}{'th' if 10 <= count % 100 <= 20 else endings.get(count % 10, 'th')}"
