"""What a history says over stretches of time: statements, transactions, ownership, work and locks of jobs, lives of processes."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from simrunner.model.event import Event


def owner_of(event: Event) -> str:
    """Return the identity of the process that caused an event, as the column `owner` writes it: `worker-a.1`."""
    return f"{event.actor}.{event.incarnation}" if event.incarnation is not None else event.actor or "nobody"


class Call(NamedTuple):
    """One statement from its `sent` to its outcome."""

    sent: Event
    outcome: Event | None
    """`ok`, `failed` or `unknown`; None when the history ends before it."""
    probes: tuple[Event, ...] = ()
    """The candidates recorded just before `sent`, in rank order."""
    blocked: tuple[Event, ...] = ()
    freed: tuple[Event, ...] = ()
    reads: tuple[Event, ...] = ()
    """The rows it returned, where such are recorded."""
    reports: tuple[Event, ...] = ()
    """The numbers it reported, or its plan."""

    @property
    def succeeded(self) -> bool:
        """Whether its outcome is `ok`."""
        return self.outcome is not None and self.outcome.kind == "ok"


class TxnEnd(StrEnum):
    """How a transaction ended, as far as the events of its client and its server process tell."""

    COMMITTED = "committed"  # acknowledged: COMMIT or the autocommit statement has its ok
    ROLLED_BACK = "rolled back"  # ROLLBACK, a failed COMMIT, or a COMMIT after a failed statement
    GONE = "gone"  # its server process left before a COMMIT was sent
    UNCERTAIN = "uncertain"  # its server process left after a COMMIT was sent: committed exactly if it left a trace
    OPEN = "open"  # the history ends before it


@dataclass(frozen=True, slots=True)
class Transaction:
    """One transaction of an actor."""

    txn: int
    first: Event
    end: Event | None
    """The `ok` or `failed` that ended it, or the `backend-gone` of its session."""
    how: TxnEnd
    traces: tuple[Event, ...]
    """Its committed `transition`, `renewal` and `effect` events."""

    @property
    def acknowledged(self) -> bool:
        """Whether the client knows that it committed."""
        return self.how is TxnEnd.COMMITTED

    @property
    def committed(self) -> bool:
        """Whether it did commit: acknowledged, or its traces are in the committed state."""
        return self.acknowledged or (self.how in (TxnEnd.UNCERTAIN, TxnEnd.OPEN) and bool(self.traces))


@dataclass(frozen=True, slots=True)
class OwnershipInterval:
    """O(j,g): a job belongs to one owner, from its committed claim to the first transition that ends that claim.

    Where the row lock is the claim: from the `read` of the claim to the `ok` or `backend-gone` that ended its transaction.
    """

    job: int
    generation: int
    owner: str
    """The process that claimed it, e.g. `worker-a.1`; what the row's own column says is `claim.owner`."""
    token: int | None
    claim: Event
    renewals: tuple[Event, ...]
    """Committed renewals of the row within the interval, in order."""
    end: Event | None
    """The transition that ended it, which for a steal is the next claim; None: open when the history ends."""
    ended_by_owner: bool
    """A complete, fail or release with this interval's own token ended it (False while it is open)."""

    @property
    def ended_by_another(self) -> bool:
        """A recovery, a steal or a write with another token ended it."""
        return self.end is not None and not self.ended_by_owner

    def open_at(self, seq: int) -> bool:
        """Whether it is open just before event `seq`."""
        return self.claim.seq < seq and (self.end is None or self.end.seq >= seq)

    def lease_source(self, seq: int) -> Event:
        """Return the event that wrote the row as it was just before event `seq`: the claim or its last renewal."""
        place = bisect_left(self.renewals, seq, key=lambda renewal: renewal.seq)
        return self.renewals[place - 1] if place else self.claim

    def lease_at(self, seq: int) -> int | None:
        """Return the stored expiry (microseconds) just before event `seq`. None: no lease."""
        return self.lease_source(seq).lease_until

    @property
    def lease_until(self) -> int | None:
        """The last stored expiry in microseconds. None: no lease."""
        return (self.renewals[-1] if self.renewals else self.claim).lease_until


@dataclass(frozen=True, slots=True)
class WorkInterval:
    """W(j,g): a process works on a job, from its `work-start` to its `work-end` or the end of the process."""

    job: int | None
    token: int | None
    owner: str
    generation: int | None
    """Of the claim that carries the token; None where no such claim was committed."""
    start: Event
    end: Event | None


@dataclass(frozen=True, slots=True)
class LockInterval:
    """A claim's transaction holds the lock of a job's row, from the `read` of the claim to the end of the transaction."""

    job: int
    txn: int
    start: Event
    end: Event | None
    """Of the transaction; None: open when the history ends."""
