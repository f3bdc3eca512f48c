"""A design under test: what a folder of SQL operations offers and promises, after it was read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Ownership(StrEnum):
    """What makes a claim last: a stored lease, the row lock of an open transaction, or the row itself for ever."""

    LEASE = "lease"
    LOCK = "lock"
    ROW = "row"


@dataclass(frozen=True, slots=True)
class Statement:
    """One SQL statement of an operation, ready to send."""

    text: str
    """As written, without the final semicolon."""
    sent: str
    """As sent: parameters are `$1`, `$2`, ...; time keywords call functions that the virtual clock replaces."""
    parameters: tuple[str, ...]
    """Names behind `$1`, `$2`, ...; each name once."""
    line: int
    """Line in the file on which the statement begins, from 1."""


@dataclass(frozen=True, slots=True)
class OperationSource:
    """One operation of a design: its statements in file order.

    A statement that uses a parameter named like a column of the statement before it runs once for each row which
    that one returned, with the row's value; without such a row it does not run.
    """

    operation: str
    path: str
    """The file it was read from, relative to the design's root folder or absolute."""
    text: str
    """The file as written."""
    statements: tuple[Statement, ...]
    results: Mapping[str, str]
    """Canonical result field (job, token, attempt, lease_until) -> column of the last statement's result."""


@dataclass(frozen=True, slots=True)
class StateTable:
    """A table that holds a design's state, and its column that identifies the job."""

    table: str
    job_column: str


@dataclass(frozen=True, slots=True)
class EffectTable:
    """The table whose rows are the durable traces of work."""

    table: str
    job_column: str
    key_column: str
    attempt_column: str | None


@dataclass(frozen=True, slots=True)
class OrderColumn:
    """One column of the declared total order of claims; `jobs.sql` returns it under this name."""

    column: str
    descending: bool


@dataclass(frozen=True, slots=True)
class Promises:
    """What the design promises, with its bounds. What is not promised is reported as such, never judged."""

    invariants: frozenset[str]
    """Names of promised invariants; for membership tests only, never iterated."""
    batch: int = 1
    order: tuple[OrderColumn, ...] = ()
    """Empty: no total order is declared."""
    concurrency_limit: int | None = None
    max_attempts: int | None = None
    attempt_counted_at: str = "claim"
    """claim or failure."""
    lease_ms: int | None = None
    lease_tolerance_ms: int = 0
    starvation_claims: int | None = None
    """At most this many claims of jobs that were not ahead at its entry may pass an eligible, unlocked job in one stay."""
    claim_cost_factor: int = 2
    """A claim fetches at most so many times the buffers of the first claims at an equal depth."""
    claim_cost_floor_buffers: int = 10
    """First claims that fetched fewer buffers count as if they had fetched so many: few more are no growth."""
    despite_inflow: bool = False
    """starvation-freedom is promised also where more preferred jobs arrive without end."""


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """Server settings with which the sessions of its clients begin."""

    client_connection_check_interval_ms: int = 0
    """How often the server looks, while a statement runs, whether the client is still there; 0: never."""
    synchronous_commit: str = "on"
    """on or off: whether a COMMIT is answered only once it would survive a crash of the server."""

    @property
    def looks_for_client(self) -> bool:
        """Whether the server notices during a statement that its client has gone."""
        return self.client_connection_check_interval_ms > 0

    @property
    def commits_survive(self) -> bool:
        """Whether what was committed survives a crash of the server."""
        return self.synchronous_commit != "off"


class FailedHeartbeat(StrEnum):
    """What a worker makes of a heartbeat that failed."""

    GO_ON = "go-on"  # the stored lease is as it was: the work goes on
    RELEASE = "release"  # it takes the lease for lost and releases the job, while the work beside it goes on


class LostCommit(StrEnum):
    """What a worker makes of a COMMIT whose answer it never heard."""

    SEND_AGAIN = "send-again"  # the write is sent again in the next session
    TAKE_FOR_DONE = "take-for-done"  # it takes the write for committed


@dataclass(frozen=True, slots=True)
class WorkerCode:
    """How the code of its workers reacts to what goes wrong."""

    failed_heartbeat: FailedHeartbeat = FailedHeartbeat.GO_ON
    lost_commit: LostCommit = LostCommit.SEND_AGAIN


@dataclass(frozen=True, slots=True)
class Policies:
    """Choices that a design is free to make; checkers judge by them."""

    recovery_charges_attempt: bool = False
    late_success_counts: bool = True
    """A completion after the lease lapsed but before any recovery is accepted."""
    fifo_counts_locked: bool = False
    """Strict order: a job that is merely locked may not be passed either."""
    completion_deletes: bool = False
    """`complete` deletes the row: that is the end of a successful job."""


@dataclass(frozen=True, slots=True)
class Design:
    """A queue under test."""

    name: str
    """As the user names it, e.g. `reference` or `mutants/no-recovery`."""
    title: str
    origin: str
    folder: str
    sha256: str
    """Of design.toml and all operation files as read, inherited ones included."""
    ownership: Ownership
    isolation: str
    """SQL name of the isolation level of the workers' transactions, e.g. `read committed`."""
    work_in_claim_transaction: bool
    tidies_up: bool
    """A process that gets SIGTERM gives back the jobs that it holds before it exits; else it is dead at once."""
    uses_statement_clock: bool
    """Some statement or function body mentions statement_timestamp() or clock_timestamp()."""
    operations: Mapping[str, OperationSource]
    transitions: frozenset[tuple[str | None, str | None]]
    """Allowed (from_state, to_state); None stands for no row. For membership tests only."""
    promises: Promises
    policies: Policies
    state_tables: tuple[StateTable, ...]
    effects: EffectTable | None
    expects_root_cause: str | None = None
    """Mutants only: the invariant that is the root cause of what they break."""
    autocommit: frozenset[str] = frozenset()
    """Operations that are sent without BEGIN and COMMIT: one statement, a transaction of its own. For membership tests only."""
    session: SessionSettings = SessionSettings()
    worker: WorkerCode = WorkerCode()
    connections: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Further connections of a worker beside its first: name -> the operations that run on it."""
    allows_consequences: frozenset[str] = frozenset()
    """Mutants only: invariants that may be violated as a consequence."""

    def offers(self, operation: str) -> bool:
        """Whether the design has the operation's file."""
        return operation in self.operations

    def connection_of(self, operation: str) -> int:
        """On which of a worker's connections an operation runs; 0 is the first, which has no name."""
        places = (place for place, operations in enumerate(self.connections.values(), 1) if operation in operations)
        return next(places, 0) if self.connections else 0

    def connection_name(self, place: int) -> str | None:
        """Name of one of a worker's connections; None: the first."""
        return (None, *self.connections)[place]
