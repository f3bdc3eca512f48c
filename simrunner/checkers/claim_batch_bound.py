"""claim-batch-bound: a claim changes no more jobs than its batch, and none that it did not deliver to its living worker.

A claim that is sent as a statement of its own is committed by the server whether or not anybody is left to hear of it: see
"client_connection_check_interval", https://www.postgresql.org/docs/18/runtime-config-connection.html.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from simrunner.checkers.wording import job, judged
from simrunner.history.attempts import ClaimAttempt
from simrunner.history.history import History
from simrunner.history.intervals import Call, owner_of
from simrunner.model.event import Event
from simrunner.model.verdict import Finding, Judgement

NAME = "claim-batch-bound"


def check(history: History) -> Judgement:
    """Find transactions that claimed more jobs than their claims were allowed, or jobs that no claim returned.

    Each transaction that claimed something is an opportunity; several claims in one transaction share one bound.
    """
    attempts: dict[int, list[ClaimAttempt]] = {}
    for attempt in history.attempts:
        if attempt.claims and attempt.transaction is not None:
            attempts.setdefault(attempt.transaction.txn, []).append(attempt)
    findings = [finding for txn, own in attempts.items() for finding in _findings(history, txn, own)]
    return judged(len(attempts), findings)


def _findings(history: History, txn: int, attempts: Sequence[ClaimAttempt]) -> Iterator[Finding]:
    claims = attempts[0].claims
    bound = sum(_bound(history, attempt.sent) for attempt in attempts)
    if len(claims) > bound:
        yield _over(attempts[0], claims, bound)
    delivered = {read.job for read in history.deliveries.get(txn, ())}
    for claim in claims:
        if claim.job not in delivered:
            yield _undelivered(history, attempts[-1].calls[-1], claim)


def _bound(history: History, sent: Event) -> int:
    """The batch of a claim: the workload's, unless the step of a script says how many."""
    place = (sent.round or 0) - 1
    script = history.context.script
    limit = script[place].limit if 0 <= place < len(script) and script[place].do == "claim" else None
    return limit or history.context.batch


def _over(attempt: ClaimAttempt, claims: Sequence[Event], bound: int) -> Finding:
    beyond = claims[bound]
    text = (
        f"The claim of {owner_of(attempt.sent)} was to take {bound} at most, but it changed {len(claims)} jobs; "
        f"{job(beyond.job)} was the first too many."
    )
    return Finding(NAME, beyond.seq, beyond.job, (attempt.sent.seq, *(claim.seq for claim in claims[: bound + 1])), text)


def _undelivered(history: History, last: Call, claim: Event) -> Finding:
    who = owner_of(claim)
    heard = "its statement had no answer" if last.outcome is None or last.outcome.kind == "unknown" else "it did not return it"
    fate = "" if history.alive(who, claim.seq) else ", which was dead by then,"
    text = (
        f"The claim of {who}{fate} committed {job(claim.job)} as claimed, but {heard}: nobody knows that the job is to be done."
    )
    return Finding(NAME, claim.seq, claim.job, (last.sent.seq, claim.seq), text)
