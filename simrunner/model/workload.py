"""A workload: one question put to a design. Fixture, actors, faults, and what must hold."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fixture:
    """What is in the queue before the first step."""

    jobs: int
    """Jobs of the seed, ids 1 to this number: the original cohort."""
    backlog: int = 0
    """Further static jobs behind the seed."""
    backlog_priority: int = -1
    """Their priority: lower than the producers', so that a recovered original does not stand behind all of them."""


@dataclass(frozen=True, slots=True)
class Producer:
    """An actor that enqueues newer jobs in every round of the safety phase."""

    jobs_per_round: int
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Actors:
    """Who takes steps."""

    workers: int
    producers: tuple[Producer, ...] = ()
    recoverers: int = 1
    heartbeats: int = 0
    """How often a worker renews its lease during the work on one job."""
    ghost_operations: tuple[str, ...] = ()
    """Writes of a dead incarnation that a ghost replays, once each round for `ghost_rounds` after its job was recovered."""
    ghost_rounds: int = 3


@dataclass(frozen=True, slots=True)
class Safety:
    """The phase in which faults strike."""

    rounds: int
    round_ms: int
    """Virtual time that passes between two rounds."""


@dataclass(frozen=True, slots=True)
class Liveness:
    """The phase in which every cohort job must end: faults off, recovery on, time passing."""

    rounds: int
    """Bound: after this many rounds a cohort job that has not ended is lost."""
    round_ms: int


@dataclass(frozen=True, slots=True)
class FaultSpec:
    """One kind of fault, to be placed by the seed."""

    kind: str
    crash_point: str | None = None
    actor: str | None = None
    """An actor's name; None: drawn from the seed among those that pass the crash point."""
    times: int = 1
    at: str | None = None
    """The step before which the actor stands when it strikes, e.g. `complete:COMMIT`, instead of a crash point."""
    round: int | None = None
    """The first round in which it may strike; None: drawn from the seed."""
    rounds: int | None = None
    """How many rounds it lasts."""
    sqlstate: str | None = None
    """Of the error."""
    ms: int | None = None
    """By how many milliseconds a clock is ahead, or goes forward; below 0: behind, back."""
    connection: str | None = None
    """Which of a worker's connections it strikes, as the design names them; None: the first."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What one script step is expected to show. Fields that are None are not looked at."""

    jobs: tuple[str, ...] | None = None
    """Job ids that it returns, in this order; empty: none."""
    rows: int | None = None
    """Rows returned or changed by its last statement."""
    count: int | None = None
    """The number that a count reports."""
    sqlstate: str | None = None
    blocked_by: str | None = None
    """The actor that it waits for. None together with `waits = false`: it must not wait."""
    waits: bool | None = None
    needs: str | None = None
    """An invariant: the expectation holds only for designs that promise it."""
    unless: str | None = None
    """An invariant: the expectation holds only for designs that do not promise it."""


@dataclass(frozen=True, slots=True)
class ScriptStep:
    """One line of a scripted workload: an actor's action, or one of the coordinator's (kill, advance, look ...)."""

    do: str
    """One of SCRIPT_ACTIONS."""
    actor: str | None = None
    """Who does it; of a `kill` or `restart`, to whom it is done."""
    isolation: str | None = None
    job: str | None = None
    jobs: int | None = None
    priority: int | None = None
    lock: str | None = None
    """Locking clause of a `candidates` or `count`, e.g. `FOR UPDATE SKIP LOCKED`."""
    limit: int | None = None
    sorted_outside: bool = False
    """`candidates`: lock in a sub-query and sort its result."""
    mode: str | None = None
    """Lock mode of `lock-table`, e.g. `EXCLUSIVE`."""
    ms: int | None = None
    claim_of: str | None = None
    """Write under the identity, token and job of this actor's last claim; `advance`: until that claim's lease, and `ms` more."""
    times: int = 1
    """How often in a row."""
    crash_point: str | None = None
    analyze: bool = False
    """`explain`: execute it, with buffers."""
    expect: Expectation | None = None
    says: str | None = None
    """What the step is there to show, in words."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """What the acceptance report says of a workload before it is run; the observation comes from the run."""

    documented: str
    """Documented behaviour that it rests on."""
    page: str
    """Page of the PostgreSQL 18 manual, e.g. `sql-select.html#SQL-FOR-UPDATE-SHARE`."""
    hypothesis: str
    procedure: str
    accepted_when: str


@dataclass(frozen=True, slots=True)
class Control:
    """Another design under the same workload, to compare; or one known to fail, so that a pass is more than seeing nothing."""

    design: str
    violates: str | None = None
    """The invariant that must be the root cause. None: the design is shown beside, and what it promises must hold."""


OPERATION_ACTIONS = (
    "claim",
    "complete",
    "fail",
    "release",
    "heartbeat",
    "effect",
    "recover",
    "recover-read",
    "recover-write",
    "reprioritize",
    "amend",
)
SESSION_ACTIONS = (
    *OPERATION_ACTIONS,
    "begin",
    "commit",
    "rollback",
    "enqueue",
    "candidates",
    "count",
    "report",
    "lock-table",
    "explain",
    "work-start",
    "work-end",
    "work",
)
COORDINATOR_ACTIONS = ("kill", "restart", "advance", "look", "vacuum", "analyze")
SCRIPT_ACTIONS = (*SESSION_ACTIONS, *COORDINATOR_ACTIONS)
"""What a script step may do. An operation outside `begin` ... `commit` runs in a transaction of its own."""


@dataclass(frozen=True, slots=True)
class Workload:
    """One question."""

    name: str
    title: str
    question: str
    path: str
    sha256: str
    """Of the file as read and the settings that were changed."""
    strategy: str
    fixture: Fixture
    actors: Actors
    safety: Safety
    liveness: Liveness
    faults: tuple[FaultSpec, ...]
    cohort: str
    """`seed`: the fixture's seed jobs; `all`: every job."""
    lease_ms: int
    batch: int
    max_attempts: int
    retry_delay_ms: int
    starvation_claims: int
    vacuum_every_rounds: int
    """A scheduled VACUUM of the state tables after so many rounds; 0: none."""
    judges: tuple[str, ...]
    must_exercise: tuple[str, ...]
    min_backlog: int
    """Eligible candidates that every claim of the safety phase must have seen; a pass certifies it. 0: no such claim."""
    preferred_inflow: bool = False
    """More preferred jobs arrive without end: only a design that says so promises starvation-freedom all the same."""
    payload_bytes: int = 0
    """Length of the payload of enqueued jobs, at least that of its text."""
    script: tuple[ScriptStep, ...] = ()
    """Not empty: exactly these steps are taken, in this order, instead of rounds."""
    experiment: Experiment | None = None
    controls: tuple[Control, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    """The --set values that were applied, as given, in the order of their keys."""

    def payload(self, job: str) -> str:
        """The payload of a job that is enqueued, by its id."""
        return f"synthetic-job-{job}".ljust(self.payload_bytes, ".")

    @property
    def counts_buffers(self) -> bool:
        """Whether it is recorded how many buffers each claim fetches: only where that is judged, because it takes time."""
        return "bounded-claim-cost" in self.judges
