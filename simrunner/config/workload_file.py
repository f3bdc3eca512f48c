"""The shape of a workload's TOML file. What each key means stands in docs/workloads.md and `simrunner.model.workload`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from simrunner.limits import LIMITS

INT4_MAX = 2**31 - 1

Name = Annotated[str, Meta(min_length=1)]
Milliseconds = Annotated[int, Meta(ge=1, le=INT4_MAX)]
Jobs = Annotated[int, Meta(ge=1, le=LIMITS.jobs_max)]
Rounds = Annotated[int, Meta(ge=1, le=LIMITS.rounds_max)]
Count = Annotated[int, Meta(ge=1, le=INT4_MAX)]
NotNegative = Annotated[int, Meta(ge=0, le=INT4_MAX)]
Priority = Annotated[int, Meta(ge=-INT4_MAX, le=INT4_MAX)]


class FixtureTable(Struct, forbid_unknown_fields=True, frozen=True):
    """`[fixture]`."""

    jobs: Jobs
    backlog: Annotated[int, Meta(ge=0, le=LIMITS.jobs_max)] = 0
    backlog_priority: Priority = -1


class ProducerEntry(Struct, forbid_unknown_fields=True, frozen=True):
    """One `[[producers]]`."""

    jobs_per_round: Jobs
    priority: Priority = 0


class ActorsTable(Struct, forbid_unknown_fields=True, frozen=True):
    """`[actors]`."""

    workers: Annotated[int, Meta(ge=1, le=LIMITS.workers_max)]
    recoverers: Annotated[int, Meta(ge=0, le=LIMITS.workers_max)] = 1
    ghost_operations: tuple[Name, ...] = ()
    ghost_rounds: Rounds = 3


class PhaseTable(Struct, forbid_unknown_fields=True, frozen=True):
    """`[safety]` and `[liveness]`."""

    rounds: Rounds
    round_ms: Milliseconds


class FaultEntry(Struct, forbid_unknown_fields=True, frozen=True):
    """One `[[faults]]`."""

    kind: Name
    crash_point: Name | None = None
    actor: Name | None = None
    times: Annotated[int, Meta(ge=1, le=LIMITS.rounds_max)] = 1


class PolicyTable(Struct, forbid_unknown_fields=True, frozen=True):
    """`[policy]`."""

    lease_ms: Milliseconds
    batch: Annotated[int, Meta(ge=1, le=LIMITS.jobs_max)] = 1
    max_attempts: Count = 5
    retry_delay_ms: NotNegative = 0
    starvation_claims: NotNegative = 10
    vacuum_every_rounds: Annotated[int, Meta(ge=0, le=LIMITS.rounds_max)] = 0


class JudgeTable(Struct, forbid_unknown_fields=True, frozen=True):
    """`[judge]`."""

    judges: Annotated[tuple[Name, ...], Meta(min_length=1)]
    must_exercise: tuple[Name, ...] = ()
    cohort: Literal["seed", "all"] = "seed"
    min_backlog: Annotated[int, Meta(ge=0, le=LIMITS.jobs_max)] = 0


class WorkloadFile(Struct, forbid_unknown_fields=True, frozen=True):
    """The whole file."""

    title: Name
    question: Name
    fixture: FixtureTable
    actors: ActorsTable
    safety: PhaseTable
    liveness: PhaseTable
    policy: PolicyTable
    judge: JudgeTable
    strategy: Name = "random"
    producers: tuple[ProducerEntry, ...] = ()
    faults: tuple[FaultEntry, ...] = ()
