"""token-unique: no two claims carry one token."""

from __future__ import annotations

from simrunner.checkers.wording import job, judged, token
from simrunner.history.history import History
from simrunner.history.intervals import owner_of
from simrunner.model.event import Event
from simrunner.model.verdict import Finding, Judgement

NAME = "token-unique"


def check(history: History) -> Judgement:
    """Find claims whose token an earlier claim carried. Each claim with a token is an opportunity.

    The rows of one batch may share the token of their transaction: they are claimed by one process at one moment, and a
    write names job and token.
    """
    first: dict[int, Event] = {}
    findings: list[Finding] = []
    with_token = [claim for claim in history.claims if claim.token is not None]
    for claim in with_token:
        earlier = first.setdefault(claim.token or 0, claim)
        if earlier is not claim and not _one_batch(earlier, claim):
            findings.append(_finding(earlier, claim))
    return judged(len(with_token), findings)


def _one_batch(earlier: Event, claim: Event) -> bool:
    return earlier.txn is not None and earlier.txn == claim.txn


def _finding(earlier: Event, claim: Event) -> Finding:
    text = (
        f"{owner_of(claim)} claimed {job(claim.job)} (claim {claim.generation} of the job) with {token(claim.token)}, which "
        f"{owner_of(earlier)} had used for claim {earlier.generation} of {job(earlier.job)}."
    )
    return Finding(NAME, claim.seq, claim.job, (earlier.seq, claim.seq), text)
