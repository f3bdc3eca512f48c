"""A history and its views: by kind, by job, claims, ownership, work, locks, transactions, lives; computed once, on demand."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property

from simrunner.history.attempts import ClaimAttempt, ClaimRound, attempts_of, rounds_of
from simrunner.history.calls import calls_of
from simrunner.history.context import Context
from simrunner.history.intervals import Call, LockInterval, OwnershipInterval, Transaction, WorkInterval, owner_of
from simrunner.history.ownership import claims_of, ownership_by_lock, ownership_of
from simrunner.history.script import ScriptAction, actions_of
from simrunner.history.transactions import transactions_of
from simrunner.model.design import Ownership
from simrunner.model.event import Event
from simrunner.model.operations import FENCED_WRITES

_CONTROL = frozenset({"BEGIN", "COMMIT", "ROLLBACK"})
_CHANGES = frozenset({"seed", "transition", "renewal"})


class History:
    """The ordered events of one run and what a checker knows besides them. Every view is linear in the events."""

    def __init__(self, events: Sequence[Event], context: Context) -> None:
        self.events: tuple[Event, ...] = tuple(events)
        self.context = context

    def at(self, seq: int) -> Event:
        """Return the event with a seq. Raises IndexError where there is none."""
        if not 1 <= seq <= len(self.events):
            raise IndexError(f"the history has no event {seq}")
        return self.events[seq - 1]

    @cached_property
    def by_kind(self) -> dict[str, tuple[Event, ...]]:
        """The events of each kind, in order."""
        found: dict[str, list[Event]] = {}
        for event in self.events:
            found.setdefault(event.kind, []).append(event)
        return {kind: tuple(events) for kind, events in found.items()}

    def of_kind(self, kind: str) -> tuple[Event, ...]:
        """Return the events of one kind, in order."""
        return self.by_kind.get(kind, ())

    @cached_property
    def by_job(self) -> dict[int, tuple[Event, ...]]:
        """The events that name each job, in order; jobs in order of first appearance."""
        found: dict[int, list[Event]] = {}
        for event in self.events:
            if event.job is not None:
                found.setdefault(event.job, []).append(event)
        return {job: tuple(events) for job, events in found.items()}

    @cached_property
    def changes(self) -> dict[int, tuple[Event, ...]]:
        """Each job's committed states: its `seed`, `transition` and `renewal` events, in order."""
        found: dict[int, list[Event]] = {}
        for event in self.events:
            if event.job is not None and event.kind in _CHANGES:
                found.setdefault(event.job, []).append(event)
        return {job: tuple(events) for job, events in found.items()}

    def change_before(self, job: int, seq: int) -> Event | None:
        """Return the job's last committed change before `seq`: its state at that moment."""
        changes = self.changes.get(job, ())
        place = bisect_left(changes, seq, key=_seq)
        return changes[place - 1] if place else None

    def change_after(self, job: int, seq: int) -> Event | None:
        """Return the job's first committed change after `seq`."""
        changes = self.changes.get(job, ())
        place = bisect_left(changes, seq + 1, key=_seq)
        return changes[place] if place < len(changes) else None

    @cached_property
    def claims(self) -> tuple[Event, ...]:
        """The committed claims: the transitions that raise their job's generation, in order."""
        return tuple(sorted((claim for changes in self.changes.values() for claim in claims_of(changes)), key=_seq))

    @cached_property
    def ownership(self) -> dict[int, tuple[OwnershipInterval, ...]]:
        """The ownership intervals of each job that was claimed, in order."""
        if self.context.ownership is Ownership.LOCK:
            return {job: ownership_by_lock(locks, self.changes.get(job, ())) for job, locks in self.locks.items()}
        writes: dict[int | None, list[Call]] = {}
        for call in self.writes:
            writes.setdefault(call.sent.txn, []).append(call)
        found = {job: ownership_of(changes, writes) for job, changes in self.changes.items()}
        return {job: intervals for job, intervals in found.items() if intervals}

    @cached_property
    def intervals(self) -> tuple[OwnershipInterval, ...]:
        """All ownership intervals in the order of their claims."""
        every = (interval for intervals in self.ownership.values() for interval in intervals)
        return tuple(sorted(every, key=lambda interval: interval.claim.seq))

    @cached_property
    def _by_token(self) -> dict[tuple[int, int], list[OwnershipInterval]]:
        found: dict[tuple[int, int], list[OwnershipInterval]] = {}
        for interval in self.intervals:
            if interval.token is not None:
                found.setdefault((interval.job, interval.token), []).append(interval)
        return found

    def interval_of(self, job: int, token: int | None, seq: int) -> OwnershipInterval | None:
        """Return the last ownership interval of (job, token) whose claim lies before `seq`."""
        known = self._by_token.get((job, token), []) if token is not None else []
        return next((interval for interval in reversed(known) if interval.claim.seq < seq), None)

    def owner_at(self, job: int, seq: int) -> OwnershipInterval | None:
        """Return the ownership interval of a job that is open just before `seq`."""
        intervals = self.ownership.get(job, ())
        place = bisect_left(intervals, seq, key=lambda interval: interval.claim.seq)
        return intervals[place - 1] if place and intervals[place - 1].open_at(seq) else None

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """All statements with their candidates, waits, outcomes and returned rows, in the order in which they were sent."""
        return calls_of(self.events)

    @cached_property
    def writes(self) -> tuple[Call, ...]:
        """The first statements of the fenced writes of owners: complete, fail, release, heartbeat."""
        return tuple(call for call in self.calls if call.sent.operation in FENCED_WRITES and call.sent.value == "1")

    @cached_property
    def transactions(self) -> dict[int, Transaction]:
        """The transactions by number."""
        return transactions_of(self.events)

    @cached_property
    def attempts(self) -> tuple[ClaimAttempt, ...]:
        """Every attempt to claim with what it saw and took, in the order in which they were sent."""
        probes = self.of_kind("probe") if self.context.mode == "rounds" else ()
        return attempts_of(self.calls, self.transactions, self.claims, probes)

    @cached_property
    def rounds(self) -> tuple[ClaimRound, ...]:
        """The attempts to claim of each round together, in order."""
        return rounds_of(self.attempts)

    @cached_property
    def actions(self) -> tuple[ScriptAction, ...]:
        """The steps of the script, in order; none where rounds were played."""
        return actions_of(self.context.script, self.events)

    @cached_property
    def claim_reads(self) -> dict[int, tuple[Event, ...]]:
        """The rows that claims returned to their clients, by transaction."""
        found: dict[int, list[Event]] = {}
        for event in self.of_kind("read"):
            if event.operation == "claim" and event.txn is not None:
                found.setdefault(event.txn, []).append(event)
        return {txn: tuple(reads) for txn, reads in found.items()}

    @cached_property
    def deliveries(self) -> dict[int, tuple[Event, ...]]:
        """The rows with which each claim's client goes on to work: what its last statement returned, by transaction."""
        label: dict[int, str | None] = {}
        found: dict[int, list[Event]] = {}
        for call in self.calls:
            txn = call.sent.txn
            if call.sent.operation == "claim" and txn is not None and call.sent.value not in _CONTROL:
                if label.get(txn) != call.sent.value:
                    label[txn], found[txn] = call.sent.value, []
                found[txn].extend(call.reads)
        return {txn: tuple(reads) for txn, reads in found.items() if reads}

    @cached_property
    def locks(self) -> dict[int, tuple[LockInterval, ...]]:
        """The locks that claims held on each job, in order of their reads."""
        found: dict[int, list[LockInterval]] = {}
        for txn, reads in self.claim_reads.items():
            for read in {read.job: read for read in reversed(reads)}.values():
                if read.job is not None:
                    end = self.transactions[txn].end
                    found.setdefault(read.job, []).append(LockInterval(read.job, txn, read, end))
        return {job: tuple(sorted(locks, key=lambda lock: lock.start.seq)) for job, locks in found.items()}

    @cached_property
    def work(self) -> tuple[WorkInterval, ...]:
        """The work intervals in order of their starts."""
        return tuple(self._worked(start, self._work_end.get(start.seq)) for start in self.of_kind("work-start"))

    def _worked(self, start: Event, end: Event | None) -> WorkInterval:
        assert start.job is not None, "work is on a job"  # noqa: S101
        claim = self.interval_of(start.job, start.token, start.seq)
        return WorkInterval(start.job, start.token, owner_of(start), claim.generation if claim else None, start, end)

    @cached_property
    def _work_end(self) -> dict[int, Event]:
        """The `work-end` or `process-end` of each `work-start`, by its seq."""
        ends: dict[int, Event] = {}
        busy: dict[str, dict[tuple[int | None, int | None], int]] = {}
        for event in self.events:
            if event.kind == "work-start":
                busy.setdefault(owner_of(event), {})[event.job, event.token] = event.seq
            elif event.kind == "work-end":
                start = busy.get(owner_of(event), {}).pop((event.job, event.token), None)
                if start is not None:
                    ends[start] = event
            elif event.kind == "process-end":
                ends.update((start, event) for start in busy.pop(owner_of(event), {}).values())
        return ends

    @cached_property
    def lives(self) -> dict[str, tuple[Event, Event | None]]:
        """The `process-start` of each process identity such as `worker-a.1`, and its `process-end` if it ended."""
        ends = {owner_of(event): event for event in self.of_kind("process-end")}
        return {owner_of(event): (event, ends.get(owner_of(event))) for event in self.of_kind("process-start")}

    def alive(self, owner: str | None, seq: int) -> bool:
        """Whether the process of an identity lives just after event `seq`. An identity that never started does not."""
        if owner is None or owner not in self.lives:
            return False
        start, end = self.lives[owner]
        return start.seq <= seq and (end is None or end.seq > seq)


def _seq(event: Event) -> int:
    return event.seq
