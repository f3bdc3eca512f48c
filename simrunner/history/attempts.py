"""What claims saw and took: each attempt to claim with its candidates, and the attempts of one concurrent round together."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from simrunner.history.intervals import Call, Transaction, TxnEnd
from simrunner.model.event import OBSERVER, Event

_CONTROL = frozenset({"BEGIN", "COMMIT", "ROLLBACK"})
_CUT_SHORT = frozenset({TxnEnd.GONE, TxnEnd.OPEN})


@dataclass(frozen=True, slots=True)
class ClaimAttempt:
    """The statements of one claim operation, from its first to its last."""

    calls: tuple[Call, ...]
    """At least one; BEGIN, COMMIT and ROLLBACK are not among them."""
    transaction: Transaction | None
    candidates: tuple[Event, ...]
    """Its `probe` events in rank order; in rounds mode those of its round."""
    claims: tuple[Event, ...]
    """The committed claims of its transaction."""
    reads: tuple[Event, ...]
    """The rows that it returned."""

    @property
    def sent(self) -> Event:
        """Its first statement."""
        return self.calls[0].sent

    @property
    def committed(self) -> bool:
        """Whether its transaction committed."""
        return self.transaction is not None and self.transaction.committed

    @property
    def seen_seq(self) -> int:
        """Where its snapshot was taken at the earliest."""
        return self.sent.seq

    @property
    def decided_seq(self) -> int:
        """Where it had chosen at the latest: the outcome of its last statement, or that statement's own place without one."""
        last = self.calls[-1]
        return (last.outcome or last.sent).seq

    @property
    def taken(self) -> dict[int, Event]:
        """The claim, or else the row returned, of each job that it claimed or returned; in order."""
        found: dict[int, Event] = {}
        for event in (*self.claims, *self.reads):
            if event.job is not None:
                found.setdefault(event.job, event)
        return found

    @property
    def free(self) -> tuple[Event, ...]:
        """The candidates that nobody had locked."""
        return tuple(candidate for candidate in self.candidates if candidate.blocked_by is None)

    @property
    def empty(self) -> Event | None:
        """The `ok` with which it ended without a row; None if it took something, failed or was cut short."""
        last = self.calls[-1].outcome
        if last is None or last.kind != "ok" or last.rows != 0 or self.claims or self.reads:
            return None
        return None if self.transaction is not None and self.transaction.how in _CUT_SHORT else last


@dataclass(frozen=True, slots=True)
class ClaimRound:
    """The claims of one concurrent round: nobody knows in which order they chose."""

    candidates: tuple[Event, ...]
    """The observer's `probe` events at the start of the round, in rank order."""
    attempts: tuple[ClaimAttempt, ...]

    @property
    def free(self) -> tuple[Event, ...]:
        """The candidates that nobody had locked when the round began."""
        return tuple(candidate for candidate in self.candidates if candidate.blocked_by is None)

    @property
    def taken(self) -> dict[int, Event]:
        """The claim, or else the row returned, of each job that was claimed or returned in the round."""
        found: dict[int, Event] = {}
        for attempt in self.attempts:
            for job, event in attempt.taken.items():
                found.setdefault(job, event)
        return found


def attempts_of(
    calls: Iterable[Call], transactions: Mapping[int, Transaction], claims: Iterable[Event], probes: Iterable[Event]
) -> tuple[ClaimAttempt, ...]:
    """Return every attempt to claim, in the order in which they were sent. `probes` are all `probe` events."""
    claimed: dict[int | None, list[Event]] = {}
    for claim in claims:
        claimed.setdefault(claim.txn, []).append(claim)
    rounds = observed_candidates(probes)
    return tuple(_attempt(group, transactions, claimed, rounds) for group in _grouped(calls))


def rounds_of(attempts: Iterable[ClaimAttempt]) -> tuple[ClaimRound, ...]:
    """Return the rounds with a claim, in order."""
    found: dict[tuple[str, int | None], list[ClaimAttempt]] = {}
    for attempt in attempts:
        found.setdefault((attempt.sent.phase, attempt.sent.round), []).append(attempt)
    return tuple(ClaimRound(group[0].candidates, tuple(group)) for group in found.values())


def observed_candidates(probes: Iterable[Event]) -> dict[tuple[str, int | None], tuple[Event, ...]]:
    """Return the candidates that the observer recorded at the start of each round, by (phase, round)."""
    found: dict[tuple[str, int | None], list[Event]] = {}
    for probe in probes:
        if probe.actor == OBSERVER:
            found.setdefault((probe.phase, probe.round), []).append(probe)
    return {place: tuple(group) for place, group in found.items()}


def untouched(events: Sequence[Event], start_seq: int, end_seq: int, actor: str | None) -> bool:
    """Whether no other actor had anything to do with a job between two events; `events` are the job's, in order."""
    place = bisect_left(events, start_seq, key=lambda event: event.seq)
    while place < len(events) and events[place].seq <= end_seq:
        if events[place].kind != "probe" and events[place].actor != actor:
            return False
        place += 1
    return True


def _grouped(calls: Iterable[Call]) -> Iterable[Sequence[Call]]:
    """Put the statements of each claim together: a session's statement `1` begins a new one."""
    groups: list[list[Call]] = []
    current: dict[int | None, list[Call]] = {}
    for call in calls:
        if call.sent.operation != "claim" or call.sent.value in _CONTROL:
            continue
        session = call.sent.session
        if call.sent.value == "1" or session not in current:
            current[session] = []
            groups.append(current[session])
        current[session].append(call)
    return groups


def _attempt(
    calls: Sequence[Call],
    transactions: Mapping[int, Transaction],
    claimed: Mapping[int | None, list[Event]],
    rounds: Mapping[tuple[str, int | None], tuple[Event, ...]],
) -> ClaimAttempt:
    sent = calls[0].sent
    candidates = calls[0].probes or rounds.get((sent.phase, sent.round), ())
    return ClaimAttempt(
        tuple(calls),
        None if sent.txn is None else transactions.get(sent.txn),
        candidates,
        () if sent.txn is None else tuple(claimed.get(sent.txn, ())),
        tuple(read for call in calls for read in call.reads),
    )
