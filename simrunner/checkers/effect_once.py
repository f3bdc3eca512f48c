"""effect-once: the committed effects of a successful job are exactly one per idempotency key, and never more."""

from __future__ import annotations

from collections.abc import Iterator

from simrunner.checkers.wording import judged
from simrunner.history.endings import succeeds
from simrunner.history.history import History
from simrunner.model.design import Policies
from simrunner.model.event import Event
from simrunner.model.verdict import Finding, Judgement

NAME = "effect-once"


def check(history: History) -> Judgement:
    """Judge every attempted effect; an attempt that was refused is an opportunity, no violation."""
    found = [*_repeated(history)]
    if history.context.completed and "effect" in history.context.offers:
        found.extend(_missing(history))
    return judged(_attempted(history), found)


def _attempted(history: History) -> int:
    """The effects that were attempted: by the operation `effect`, or committed within another one."""
    sent = [call.sent.txn for call in history.calls if call.sent.operation == "effect" and call.sent.value == "1"]
    tried = frozenset(sent)
    return len(sent) + sum(1 for event in history.of_kind("effect") if event.txn not in tried)


def _repeated(history: History) -> Iterator[Finding]:
    first: dict[tuple[str, int | None], Event] = {}
    for event in history.of_kind("effect"):
        identity = ("job", event.job) if event.key is None else ("key", event.key)
        before = first.setdefault(identity, event)
        if before is not event:
            yield Finding(NAME, event.seq, event.job, (before.seq, event.seq), _repeated_text(before, event))


def _repeated_text(before: Event, event: Event) -> str:
    key = "" if event.key is None else f" (key {{key:{event.key}}})"
    return (
        f"A second effect of job {{job:{event.job}}}{key} was committed by {_who(event)}, "
        f"after {_who(before)} had committed one at event {before.seq}."
    )


def _who(event: Event) -> str:
    return f"{event.actor}.{event.incarnation}" + ("" if event.attempt is None else f" (attempt {event.attempt})")


def _missing(history: History) -> Iterator[Finding]:
    jobs = {event.job for event in history.of_kind("effect")}
    keys = {event.key for event in history.of_kind("effect") if event.key is not None}
    for job, changes in history.changes.items():
        done = _done(changes, history.context.policies)
        if done is not None and job not in jobs and changes[-1].key not in keys:
            text = f"Job {{job:{job}}} ended with success, but no effect of it was ever committed."
            yield Finding(NAME, done.seq, job, (done.seq,), text)


def _done(changes: tuple[Event, ...], policies: Policies) -> Event | None:
    """The transition that ended a job with success, also where its row was deleted afterwards."""
    moves = [event for event in changes if event.kind == "transition"]
    if moves and moves[-1].to_state is None and not succeeds(moves[-1], policies):
        moves.pop()
    return moves[-1] if moves and succeeds(moves[-1], policies) else None
