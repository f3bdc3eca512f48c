"""The shape of a workload's TOML file. What each key means stands in docs/workloads.md and `simrunner.model.workload`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from simrunner.limits import LIMITS

INT4_MAX = 2**31 - 1

Name = Annotated[str, Meta(min_length=1)]
Milliseconds = Annotated[int, Meta(ge=1, le=INT4_MAX)]
Difference = Annotated[int, Meta(ge=-INT4_MAX, le=INT4_MAX)]
Jobs = Annotated[int, Meta(ge=1, le=LIMITS.jobs_max)]
Rounds = Annotated[int, Meta(ge=1, le=LIMITS.rounds_max)]
Count = Annotated[int, Meta(ge=1, le=INT4_MAX)]
NotNegative = Annotated[int, Meta(ge=0, le=INT4_MAX)]
SqlState = Annotated[str, Meta(pattern="^[0-9A-Z]{5}$")]
ErrorState = Annotated[str, Meta(pattern="^(?!0[0-2])[0-9A-Z]{5}$")]
"""Of an error: success, warnings and `no data` are none."""
Priority = Annotated[int, Meta(ge=-INT4_MAX, le=INT4_MAX)]


class FixtureTable(Struct, forbid_unknown_fields=True, frozen=True):
    """`[fixture]`."""

    jobs: Jobs
    backlog: Annotated[int, Meta(ge=0, le=LIMITS.jobs_max)] = 0
    backlog_priority: Priority = -1


class ProducerEntry(Struct, forbid_unknown_fields=True, frozen=True):
    """One `[[producers]]`."""

    jobs_per_round: Annotated[int, Meta(ge=0, le=LIMITS.jobs_max)]
    priority: Priority = 0


class ActorsTable(Struct, forbid_unknown_fields=True, frozen=True):
    """`[actors]`."""

    workers: Annotated[int, Meta(ge=1, le=LIMITS.workers_max)]
    recoverers: Annotated[int, Meta(ge=0, le=LIMITS.workers_max)] = 1
    heartbeats: Annotated[int, Meta(ge=0, le=LIMITS.rounds_max)] = 0
    ghost_operations: tuple[Name, ...] = ()
    ghost_rounds: Rounds = 3


class SafetyTable(Struct, forbid_unknown_fields=True, frozen=True):
    """`[safety]`."""

    rounds: Rounds
    round_ms: Milliseconds


class LivenessTable(Struct, forbid_unknown_fields=True, frozen=True):
    """`[liveness]`."""

    rounds: Annotated[int, Meta(ge=0, le=LIMITS.rounds_max)]
    round_ms: Milliseconds


class FaultEntry(Struct, forbid_unknown_fields=True, frozen=True):
    """One `[[faults]]`."""

    kind: Name
    crash_point: Name | None = None
    actor: Name | None = None
    times: Annotated[int, Meta(ge=1, le=LIMITS.rounds_max)] = 1
    at: Name | None = None
    round: Rounds | None = None
    rounds: Rounds | None = None
    sqlstate: ErrorState | None = None
    ms: Difference | None = None
    connection: Name | None = None


class PolicyTable(Struct, forbid_unknown_fields=True, frozen=True):
    """`[policy]`."""

    lease_ms: Milliseconds
    batch: Annotated[int, Meta(ge=1, le=LIMITS.jobs_max)] = 1
    max_attempts: Count = 5
    retry_delay_ms: NotNegative = 0
    starvation_claims: NotNegative = 10
    vacuum_every_rounds: Annotated[int, Meta(ge=0, le=LIMITS.rounds_max)] = 0
    payload_bytes: Annotated[int, Meta(ge=0, le=LIMITS.payload_bytes_max)] = 0


class JudgeTable(Struct, forbid_unknown_fields=True, frozen=True):
    """`[judge]`."""

    judges: Annotated[tuple[Name, ...], Meta(min_length=1)]
    must_exercise: tuple[Name, ...] = ()
    cohort: Literal["seed", "all"] = "seed"
    min_backlog: Annotated[int, Meta(ge=0, le=LIMITS.jobs_max)] = 0
    preferred_inflow: bool = False


class ExpectTable(Struct, forbid_unknown_fields=True, frozen=True):
    """`expect` of one `[[script]]`."""

    jobs: tuple[str, ...] | None = None
    rows: NotNegative | None = None
    count: NotNegative | None = None
    sqlstate: SqlState | None = None
    blocked_by: Name | None = None
    waits: bool | None = None
    needs: Name | None = None
    unless: Name | None = None


class ScriptEntry(Struct, forbid_unknown_fields=True, frozen=True):
    """One `[[script]]`."""

    do: Name
    actor: Name | None = None
    isolation: Literal["read committed", "repeatable read", "serializable"] | None = None
    job: Name | None = None
    jobs: Jobs | None = None
    priority: Priority | None = None
    lock: Name | None = None
    limit: Count | None = None
    sorted_outside: bool = False
    mode: Name | None = None
    ms: Milliseconds | None = None
    claim_of: Name | None = None
    times: Rounds = 1
    crash_point: Name | None = None
    analyze: bool = False
    expect: ExpectTable | None = None
    says: Name | None = None


class ExperimentTable(Struct, forbid_unknown_fields=True, frozen=True):
    """`[experiment]`: what the acceptance report says of the workload before it is run."""

    documented: Name
    page: Name
    hypothesis: Name
    procedure: Name
    accepted_when: Name


class ControlEntry(Struct, forbid_unknown_fields=True, frozen=True):
    """One `[[controls]]`: a design that is known to fail, which shows that the experiment can, or one to compare."""

    design: Name
    violates: Name | None = None


class WorkloadFile(Struct, forbid_unknown_fields=True, frozen=True):
    """The whole file."""

    title: Name
    question: Name
    fixture: FixtureTable
    policy: PolicyTable
    judge: JudgeTable
    actors: ActorsTable | None = None
    safety: SafetyTable | None = None
    liveness: LivenessTable | None = None
    script: tuple[ScriptEntry, ...] = ()
    experiment: ExperimentTable | None = None
    controls: tuple[ControlEntry, ...] = ()
    strategy: Name = "random"
    producers: tuple[ProducerEntry, ...] = ()
    faults: tuple[FaultEntry, ...] = ()
