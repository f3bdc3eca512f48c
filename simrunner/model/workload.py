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
    settings: tuple[tuple[str, str], ...] = ()
    """The --set values that were applied, as given, in the order of their keys."""
