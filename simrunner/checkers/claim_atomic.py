"""claim-atomic: a claim whose transaction did not commit leaves nothing behind."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from simrunner.checkers.wording import job, judged
from simrunner.history.history import History
from simrunner.history.intervals import Transaction, TxnEnd, owner_of
from simrunner.model.event import Event
from simrunner.model.verdict import Finding, Judgement

NAME = "claim-atomic"


class _Lost(NamedTuple):
    """A claim that returned a job and did not commit."""

    read: Event
    txn: Transaction
    end: Event


def check(history: History) -> Judgement:
    """Find traces of claims that did not commit: a committed change, a lock that stays, a counted attempt.

    Each claim transaction that returned a row and surely did not commit is an opportunity.
    """
    lost = [claims for txn, reads in history.claim_reads.items() if (claims := _lost(history.transactions[txn], reads))]
    probes = _probes(history, {claim.read.job for claims in lost for claim in claims})
    findings = [finding for claims in lost for finding in _findings(history, claims, probes)]
    once = {(finding.seq, finding.job): finding for finding in reversed(findings)}
    return judged(len(lost), once.values())


def _lost(txn: Transaction, reads: Sequence[Event]) -> tuple[_Lost, ...]:
    """Return the jobs a transaction claimed in vain, each once; none if it committed or is still open."""
    if txn.end is None or txn.committed:
        return ()
    return tuple(_Lost(read, txn, txn.end) for read in {read.job: read for read in reversed(reads)}.values())


def _probes(history: History, jobs: set[int | None]) -> dict[int | None, list[Event]]:
    found: dict[int | None, list[Event]] = {}
    for probe in history.of_kind("probe"):
        if probe.job in jobs:
            found.setdefault(probe.job, []).append(probe)
    return found


def _findings(history: History, claims: Sequence[_Lost], probes: Mapping[int | None, Sequence[Event]]) -> Iterator[Finding]:
    trace = next(iter(claims[0].txn.traces), None)
    if trace is not None:
        yield _traced(claims[0], trace)
        return
    for claim in claims:
        probe = _first_after(probes.get(claim.read.job, ()), claim.end.seq)
        if probe is not None and _still_locked(history, claim, probe):
            yield _locked(claim, probe)
        counted = _counted(history, claim)
        if counted is not None:
            yield _charged(claim, counted)


def _how(claim: _Lost) -> str:
    told = {TxnEnd.ROLLED_BACK: "was rolled back", TxnEnd.GONE: "ended with its server process before COMMIT"}
    return f"The claim of {job(claim.read.job)} by {owner_of(claim.read)} {told.get(claim.txn.how, 'did not commit')}"


def _traced(claim: _Lost, trace: Event) -> Finding:
    text = f"{_how(claim)}, yet its transaction left a committed {trace.kind} of {job(trace.job)}."
    return Finding(NAME, trace.seq, trace.job, tuple(sorted((claim.read.seq, claim.end.seq, trace.seq))), text)


def _first_after(probes: Sequence[Event], seq: int) -> Event | None:
    place = bisect_right(probes, seq, key=lambda probe: probe.seq)
    return probes[place] if place < len(probes) else None


def _still_locked(history: History, claim: _Lost, probe: Event) -> bool:
    """Whether the first look at the job afterwards shows it locked by the same actor, which has no other open transaction."""
    actor = claim.read.actor
    return probe.blocked_by == actor and not any(
        txn.first.actor == actor and txn.first.seq < probe.seq and (txn.end is None or txn.end.seq > probe.seq)
        for txn in history.transactions.values()
    )


def _locked(claim: _Lost, probe: Event) -> Finding:
    text = f"{_how(claim)}, yet the job was still locked by that session when {owner_of(probe)} looked for candidates."
    return Finding(NAME, probe.seq, probe.job, (claim.read.seq, claim.end.seq, probe.seq), text)


def _counted(history: History, claim: _Lost) -> Event | None:
    """Return the job's next committed change if its attempt counter shows more than that one change could have added."""
    if claim.read.job is None:
        return None
    before = history.change_before(claim.read.job, claim.end.seq)
    after = history.change_after(claim.read.job, claim.end.seq)
    if before is None or after is None or before.attempt is None or after.attempt is None:
        return None
    # What the lost claim itself would have stored is the step that one claim of this design makes.
    limit = max(before.attempt + 1, claim.read.attempt or 0)
    return after if after.attempt > limit else None


def _charged(claim: _Lost, after: Event) -> Finding:
    text = f"{_how(claim)}, yet the next committed row of the job counts it: its attempts went up to {after.attempt}."
    return Finding(NAME, after.seq, after.job, (claim.read.seq, claim.end.seq, after.seq), text)
