"""The state of one run while it runs: its actors, what they hold, and who is speaking in the database."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.synchronize import Barrier
from typing import Any

from msgspec import structs
from psycopg.pq.abc import PGconn

from simrunner.model.design import Design
from simrunner.model.draws import Draws
from simrunner.model.event import OBSERVER
from simrunner.model.tape import Decision
from simrunner.model.view import ArmedFault, LaneState, LaneView, View
from simrunner.model.workload import Workload
from simrunner.runtime.committed import Committed
from simrunner.runtime.messages import Intent, Order, Returned, Role, Write
from simrunner.runtime.observer import Observer
from simrunner.runtime.process import Process
from simrunner.runtime.recorder import Recorder
from simrunner.runtime.truth import CommittedTransaction, TruthReader
from simrunner.strategies.decider import Decider


@dataclass(frozen=True, slots=True)
class TransactionInfo:
    """Who began a transaction, as truth is attributed to it."""

    actor: str
    incarnation: int
    session: int
    txn: int
    operation: str | None
    txn_time: int
    claimed: frozenset[str] = frozenset()
    """Job ids that its claims returned; for membership tests only."""


@dataclass(slots=True)
class Connection:
    """One connection of an actor: its session, and the transaction that is open in it."""

    name: str | None = None
    """As the design names it; None: the one on which everything runs that has no other."""
    session: int | None = None
    """Ordinal in the run; None: it has none yet."""
    backend_pid: int = 0
    """0: its session has ended, which the actor has not noticed."""
    begun: int = 0
    """Transactions that the session began."""
    txn: int | None = None
    txn_time: int | None = None
    keeps_snapshot: bool = False
    """Its transaction is REPEATABLE READ or SERIALIZABLE: all its statements see one snapshot."""
    snapshot_seq: int | None = None
    """The last committed change in that snapshot, once it was taken (0: none)."""
    losing: bool = False
    """A fault is about to end its session."""
    claimed: tuple[Returned, ...] = ()
    """What its open claim transaction returned."""

    @property
    def words(self) -> str:
        """How it is told in a message, behind the actor's name."""
        return "" if self.name is None else f" (connection {self.name})"

    @property
    def key(self) -> tuple[int, int]:
        """Its present transaction, as committed truth names it: backend pid, number in its session."""
        return self.backend_pid, self.begun

    def end_transaction(self) -> None:
        """Forget the transaction that has ended."""
        self.txn = self.txn_time = self.snapshot_seq = None
        self.keeps_snapshot = False
        self.claimed = ()


@dataclass(slots=True)
class Lane:
    """One actor: a process, its gate and its connections. It takes one step at a time, on one of them."""

    actor: str
    program: str
    incarnation: int = 0
    process: Process | None = None
    state: LaneState = LaneState.DEAD
    intent: Intent | None = None
    """The step at which it is parked."""
    deferred: tuple[Intent, ...] = ()
    """What happens with that step, before it, where steps are coalesced."""
    pending: Intent | None = None
    """The step that was let go and has no outcome yet."""
    order: Order | None = None
    """What to do with the opportunity of this round, handed over at its first step."""
    role: Role | None = None
    """What its process is to be told with the first order."""
    connections: list[Connection] = field(default_factory=lambda: [Connection()])
    """Those of its process: one, and of a worker each that the design names."""
    connection: Connection = field(init=False)
    """That of the step at which it is parked, or which it has under way."""
    alias: str | None = None
    """The identity of a dead predecessor that its processes have."""
    starts_later: bool = False
    """Its next process is not to be started yet."""
    skew_ms: int = 0
    """By how much its own clock is ahead of the database's."""
    blockers: tuple[int, ...] = ()
    """Backends that block its statement."""
    held: dict[tuple[str, str], Returned] = field(default_factory=dict)
    """Acknowledged claims that it has not completed, by job and token: a batch has one token."""

    def __post_init__(self) -> None:
        self.connection = self.connections[0]

    @property
    def identity(self) -> str:
        """What the design stores as the owner: worker and incarnation, e.g. `worker-a.2`, or an older identity."""
        return self.alias or f"{self.actor}.{self.incarnation}"

    def view(self) -> LaneView:
        """What a strategy sees of it."""
        label = self.intent.label if self.intent else None
        point = self.intent.crash_point if self.intent else None
        return LaneView(self.actor, self.incarnation, self.state, label, point)

    def hand_over(self, order: Order) -> Order:
        """Return an order as it goes to the process, with the role if it is the first."""
        role, self.role = self.role, None
        return order if role is None else structs.replace(order, role=role)

    def who(self, connection: Connection | None = None) -> dict[str, Any]:
        """The event columns that say who acts: on the connection of its step, unless another is given."""
        on = connection or self.connection
        return {
            "actor": self.actor,
            "incarnation": self.incarnation,
            "session": on.session,
            "txn": on.txn,
            "backend_pid": on.backend_pid or None,
            "os_pid": self.process.pid if self.process else None,
        }


@dataclass(slots=True)
class Ghost:
    """A dead incarnation's claim, whose writes are replayed once its ownership was ended by another."""

    writes: tuple[Write, ...]
    rounds_left: int


@dataclass(frozen=True, slots=True)
class Lasting:
    """A fault that lasts."""

    kind: str
    actor: str | None
    until: int | None
    """The round at whose beginning it ends; None: it lasts until the liveness phase."""
    session: PGconn | None = None
    """Of somebody else, which does what lasts."""


@dataclass(slots=True)
class World:
    """Everything that the coordinator's functions share."""

    design: Design
    workload: Workload
    draws: Draws
    recorder: Recorder
    observer: Observer
    truth: TruthReader
    committed: Committed
    decider: Decider
    lanes: list[Lane]
    cast: Callable[[], Process]
    """Get a process for an actor's next incarnation."""
    role: Callable[[Lane], Role]
    """What that process is told to be, with its first order."""
    dismiss: Callable[[Process], str]
    """Take a process back that rests; returns how it ended, as the history tells it."""
    crash_server: Callable[[], None]
    """Crash the server, start it again, and look at it with new sessions."""
    connect: Callable[[str], PGconn]
    """Open a session of the coordinator's own, with a name for application_name."""
    pace: Callable[[], None]
    """Called before each decision; waits where the user asked for a slow run."""
    can_signal_backends: bool
    armed: list[ArmedFault] = field(default_factory=list)
    """Faults that have not struck yet."""
    lasting: list[Lasting] = field(default_factory=list)
    """Faults that have struck and not ended."""
    coalesces: bool = False
    """BEGIN, local actions and the beginning of a round are no steps of their own."""
    barriers: tuple[Barrier, ...] = ()
    """Concurrent mode: made before the first fork."""
    barrier: int = 0
    """The one in use; a poisoned one is left behind."""
    cohort: frozenset[str] = frozenset()
    """Job ids; for membership tests only."""
    orphans: list[Lane] = field(default_factory=list)
    """Sessions of dead actors whose statements still wait for a lock: they hold their own locks until they are freed."""
    ghosts: list[Ghost] = field(default_factory=list)
    transactions: dict[tuple[int, int], TransactionInfo] = field(default_factory=dict)
    """(backend pid, number in its session) -> who began it."""
    unread: list[CommittedTransaction] = field(default_factory=list)
    """Committed truth that was read and not yet recorded."""
    last_claims: dict[str, tuple[str, Returned]] = field(default_factory=dict)
    """Actor -> (its identity then, what its last claim returned), dead or alive."""
    sessions_used: int = 0
    txns_used: int = 0
    next_job: int = 1
    is_deterministic: bool = True
    """False once a choice could not be enforced, e.g. which waiter wakes, or an actor died in the middle of a step."""

    def view(self) -> View:
        """What a strategy sees."""
        recorder = self.recorder
        return View(recorder.phase, recorder.round or 0, recorder.step, tuple(lane.view() for lane in self.lanes))

    def follow(self, decision: Decision) -> None:
        """Take a decision that follows from the workload and the decisions before it."""
        self.decider.confirm(decision)
        self.recorder.decide(decision)

    def advance(self, amount_ms: int) -> None:
        """Let virtual time pass."""
        self.recorder.now_us += amount_ms * 1000
        self.recorder.event("clock", actor=OBSERVER, value=str(amount_ms))

    def lane(self, actor: str) -> Lane:
        """Return an actor's lane."""
        return next(lane for lane in self.lanes if lane.actor == actor)

    def waiters(self) -> list[Lane]:
        """Whose statements wait for a lock: orphans first, then actors in declared order."""
        return [*self.orphans, *(lane for lane in self.lanes if lane.state is LaneState.BLOCKED)]
