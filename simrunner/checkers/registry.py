"""The literal registry of invariants. Its order breaks ties between findings at the same event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from simrunner.checkers import (
    as_scripted,
    attempts_accounted,
    bounded_claim_cost,
    claim_atomic,
    claim_batch_bound,
    claim_due,
    claim_durable,
    claim_order,
    concurrency_limit,
    effect_once,
    fenced_recovery,
    fenced_writes,
    history_complete,
    lease_clock,
    lease_honoured,
    legal_transition,
    no_false_empty,
    no_job_lost,
    ownership_complete,
    report_complete,
    serialization_retried,
    short_claim_transaction,
    single_live_claim,
    starvation_freedom,
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
    promised_by_script: bool = False
    """The script of a workload promises it, not the design: it is judged wherever there is a script."""


CHECKERS: tuple[Checker, ...] = (
    Checker("single-live-claim", "nobody claims a job while another claim of it is valid", single_live_claim.check, "claim"),
    Checker("claim-atomic", "a claim that did not commit leaves nothing behind", claim_atomic.check, "claim"),
    Checker("claim-durable", "an acknowledged claim stays until a transition ends it", claim_durable.check, "claim"),
    Checker(
        "claim-batch-bound", "a claim takes no more than its batch, and delivers all of it", claim_batch_bound.check, "claim"
    ),
    Checker("concurrency-limit", "only so many jobs of a group are owned at a time", concurrency_limit.check, "claim"),
    Checker("fenced-writes", "an owner that lost its claim changes nothing any more", fenced_writes.check, "complete"),
    Checker("fenced-recovery", "a recovery changes only what is still as its read saw it", fenced_recovery.check),
    Checker("lease-honoured", "nobody takes a job away before its stored expiry", lease_honoured.check),
    Checker("lease-clock", "a stored expiry is the declared lease after the writer's clock", lease_clock.check, "claim"),
    Checker("token-unique", "no two claims carry one token", token_unique.check, "claim"),
    Checker("ownership-complete", "a row says who owns it exactly while it is owned", ownership_complete.check),
    Checker("claim-due", "nobody claims a job before it is due", claim_due.check, "claim"),
    Checker("claim-order", "no job is claimed while a free one ahead of it waits", claim_order.check, "claim"),
    Checker("no-false-empty", "no claim comes back empty while a free job waits", no_false_empty.check, "claim"),
    Checker("starvation-freedom", "only so many claims pass a free job while it waits", starvation_freedom.check, "claim"),
    Checker("attempts-accounted", "claims stay within the maximum and the counter tells them", attempts_accounted.check, "claim"),
    Checker("effect-once", "a successful job has exactly one committed effect", effect_once.check, "effect"),
    Checker(
        "short-claim-transaction",
        "no transaction stays open from before the work to after it",
        short_claim_transaction.check,
        "claim",
    ),
    Checker(
        "bounded-claim-cost", "a claim costs no more late in a run than early, at equal depth", bounded_claim_cost.check, "claim"
    ),
    Checker("report-complete", "a reported number is the one that committed truth says", report_complete.check, "report"),
    Checker(
        "serialization-retried",
        "a serialization failure is tried again and does not strike one actor again and again",
        serialization_retried.check,
        "claim",
    ),
    Checker("legal-transition", "jobs change their state only as the design declares", legal_transition.check),
    Checker("no-job-lost", "every acknowledged job of the cohort comes to its end", no_job_lost.check),
    Checker("history-complete", "final rows, audit trail and recorded history agree", history_complete.check),
    Checker("as-scripted", "each step of a script shows what the workload says", as_scripted.check, promised_by_script=True),
)
"""Every invariant that can be judged. A new one has its own file and one line here."""
