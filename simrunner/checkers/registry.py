"""The literal registry of invariants. Its order breaks ties between findings at the same event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from simrunner.checkers import (
    claim_atomic,
    claim_durable,
    fenced_writes,
    lease_honoured,
    legal_transition,
    ownership_complete,
    single_live_claim,
    token_unique,
)
from simrunner.history.history import History
from simrunner.model.verdict import Judgement


@dataclass(frozen=True, slots=True)
class Checker:
    """One invariant and the pure function that decides it."""

    name: str
    title: str
    """The invariant in one line of plain words."""
    check: Callable[[History], Judgement]
    needs_operation: str | None = None
    """The operation without which the invariant is `not offered`."""


CHECKERS: tuple[Checker, ...] = (
    Checker("single-live-claim", "nobody claims a job while another claim of it is valid", single_live_claim.check, "claim"),
    Checker("claim-atomic", "a claim that did not commit leaves nothing behind", claim_atomic.check, "claim"),
    Checker("claim-durable", "an acknowledged claim stays until a transition ends it", claim_durable.check, "claim"),
    Checker("fenced-writes", "an owner that lost its claim changes nothing any more", fenced_writes.check, "complete"),
    Checker("lease-honoured", "nobody takes a job away before its stored expiry", lease_honoured.check),
    Checker("token-unique", "no two claims carry one token", token_unique.check, "claim"),
    Checker("ownership-complete", "a row says who owns it exactly while it is owned", ownership_complete.check),
    Checker("legal-transition", "jobs change their state only as the design declares", legal_transition.check),
)
"""Every invariant that can be judged. A new one has its own file and one line here."""
