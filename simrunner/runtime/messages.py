"""What the coordinator and an actor's process say to each other through a gate.

A gate is a SOCK_SEQPACKET pair (unix(7)): one message is one packet. An actor parks by sending a Report with the step that it
is about to take, and goes on when it receives a Go. The Report of the next step carries the outcome of the one before, so a
step costs one message each way.
"""

from __future__ import annotations

from msgspec import Struct, msgpack

ROUND = "round"
"""Label of the gate between two rounds: the actor has used its opportunity and waits for an Order."""
EXIT = "exit"
"""Label of the last gate of a process that was told to end: it has tidied up."""
BARRIER = "barrier"
"""Label of the gate before the barrier of a concurrent round."""


class Intent(Struct, array_like=True, frozen=True):
    """The step that an actor is about to take."""

    label: str
    """What a decision names, e.g. `claim:BEGIN`, `claim:1`, `work-start`, `round`."""
    operation: str | None = None
    statement: str | None = None
    """BEGIN, COMMIT, ROLLBACK or the statement's number; None for a local action."""
    crash_point: str | None = None
    job: str | None = None
    token: str | None = None
    attempt: int | None = None
    probes: bool = False
    """A claim's first statement: the observer reads its candidates first."""
    ends: bool = False
    """It ends a transaction, so committed truth may change and waiters may wake."""
    connection: int = 0
    """On which of the actor's connections; local actions are on the first."""

    @property
    def coalesces(self) -> bool:
        """Nobody else can notice when it happens: BEGIN, or a local action such as work."""
        return self.statement == "BEGIN" or (self.statement is None and self.label not in (ROUND, BARRIER))


class Returned(Struct, array_like=True, frozen=True):
    """One row that an operation returned, mapped to canonical fields."""

    job: str | None
    token: str | None = None
    attempt: int | None = None
    lease_until: str | None = None
    value: str | None = None
    """A reported number, or a line of a plan."""
    state: str | None = None
    """The state of the jobs that a reported number counts."""


class Outcome(Struct, array_like=True, frozen=True):
    """How the step before went. sqlstate None: it succeeded."""

    intent: Intent
    sqlstate: str | None
    message: str
    rows: int
    returned: tuple[Returned, ...]
    duration_us: int
    lost: bool = False
    """The session ended under it: the client does not know whether it happened."""
    buffers: int | None = None
    """Of the design's relations, fetched by a claim; None: not counted."""


class Report(Struct, array_like=True, frozen=True):
    """Actor to coordinator: the outcomes since the last report, and the next step, at which it parks."""

    outcomes: tuple[Outcome, ...]
    """One; none at the first gate."""
    intent: Intent
    waits: bool = True
    """False: told in passing, in a concurrent round; the actor does not wait for a Go."""
    backends: tuple[int, ...] = ()
    """Of the actor's connections: the first is the one on which everything runs that has no other."""
    deferred: tuple[Intent, ...] = ()
    """What happens with the next step, before it, where steps are coalesced."""


class Write(Struct, array_like=True, frozen=True):
    """A write that a ghost replays for a dead incarnation."""

    operation: str
    worker_id: str
    token: str | None
    job: str
    attempt: int | None


class Enqueue(Struct, array_like=True, frozen=True):
    """A job that a producer enqueues."""

    job: str
    key: str
    priority: int
    payload: str


class Action(Struct, array_like=True, frozen=True):
    """One scripted action of a session; fields as in model.workload.ScriptStep."""

    do: str
    isolation: str | None = None
    job: str | None = None
    priority: int | None = None
    lock: str | None = None
    limit: int | None = None
    sorted_outside: bool = False
    mode: str | None = None
    analyze: bool = False
    write: Write | None = None
    """Whose claim a write is about; None: the session's own last claim."""
    enqueue: tuple[Enqueue, ...] = ()


class Role(Struct, array_like=True, frozen=True):
    """Who a process is from now on: the next incarnation of an actor."""

    actor: str
    incarnation: int
    program: str
    seed: int
    """Of the run: the random functions of its sessions follow from it."""
    alias: str | None = None
    """The identity of a dead predecessor that it has."""

    @property
    def name(self) -> str:
        """Worker and incarnation, e.g. `worker-a.2`."""
        return f"{self.actor}.{self.incarnation}"

    @property
    def identity(self) -> str:
        """What the design stores as the owner."""
        return self.alias or self.name


class Order(Struct, array_like=True, frozen=True):
    """What an actor does with its opportunity of one round."""

    round: int
    enqueue: tuple[Enqueue, ...] = ()
    writes: tuple[Write, ...] = ()
    action: Action | None = None
    role: Role | None = None
    """Take this role first. The first order of every incarnation has one."""
    barrier: int | None = None
    """Concurrent round: align at this barrier, then run without parking. An Order in the Go at that gate calls it off."""
    stop_at: str | None = None
    """Concurrent round: park at this crash point all the same."""


class Trouble(Struct, array_like=True, frozen=True):
    """What goes wrong with one step."""

    kind: str
    """The kind of the fault, or `hold`: it stands still in the server once it has changed a row."""
    sqlstate: str | None = None
    """Of an error."""


class Go(Struct, array_like=True, frozen=True):
    """Coordinator to actor: take the step."""

    now_us: int
    """Virtual time for a transaction that begins with this step."""
    fast_deadlock: bool = False
    """Another actor is blocked: this statement, should it close a cycle, is to be the victim."""
    order: Order | None = None
    trouble: Trouble | None = None
    skew_ms: int = 0
    """By how much the actor's own clock is ahead of the database's."""


_encoder = msgpack.Encoder()
encode = _encoder.encode
decode_report = msgpack.Decoder(Report).decode
decode_go = msgpack.Decoder(Go).decode
