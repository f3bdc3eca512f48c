"""The shape of `design.toml`. What each key means stands in docs/designs.md and `simrunner.model.design`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from simrunner.model.design import FailedHeartbeat, LostCommit, Ownership

INT4_MAX = 2**31 - 1

Name = Annotated[str, Meta(min_length=1)]
Positive = Annotated[int, Meta(ge=1, le=INT4_MAX)]
NotNegative = Annotated[int, Meta(ge=0, le=INT4_MAX)]


class PromisesTable(Struct, forbid_unknown_fields=True, frozen=True):
    """`[promises]`."""

    invariants: tuple[Name, ...]
    batch: Positive = 1
    order: tuple[Name, ...] = ()
    concurrency_limit: Positive | None = None
    max_attempts: Positive | None = None
    attempt_counted_at: Literal["claim", "failure"] = "claim"
    lease_ms: Positive | None = None
    lease_tolerance_ms: NotNegative = 0
    starvation_claims: NotNegative | None = None
    claim_cost_factor: Positive = 2
    claim_cost_floor_buffers: Positive = 10
    despite_inflow: bool = False


class PoliciesTable(Struct, forbid_unknown_fields=True, frozen=True):
    """`[policies]`."""

    recovery_charges_attempt: bool = False
    late_success_counts: bool = True
    fifo_counts_locked: bool = False
    completion_deletes: bool = False


class SessionTable(Struct, forbid_unknown_fields=True, frozen=True):
    """`[session]`."""

    client_connection_check_interval_ms: NotNegative = 0
    synchronous_commit: Literal["on", "off"] = "on"


class WorkerTable(Struct, forbid_unknown_fields=True, frozen=True):
    """`[worker]`."""

    failed_heartbeat: FailedHeartbeat = FailedHeartbeat.GO_ON
    lost_commit: LostCommit = LostCommit.SEND_AGAIN


class StateTableEntry(Struct, forbid_unknown_fields=True, frozen=True):
    """One `[[state]]`."""

    table: Name
    job_column: Name


class EffectsTable(Struct, forbid_unknown_fields=True, frozen=True):
    """`[effects]`."""

    table: Name
    job_column: Name
    key_column: Name
    attempt_column: Name | None = None


class ExpectsTable(Struct, forbid_unknown_fields=True, frozen=True):
    """`[expects]`: mutants only."""

    root_cause: Name
    consequences: tuple[Name, ...] = ()


class DesignFile(Struct, forbid_unknown_fields=True, frozen=True):
    """The whole file; for a design that extends another, what the two say together."""

    title: Name
    origin: Name
    ownership: Ownership
    transitions: dict[str, tuple[str, ...]]
    promises: PromisesTable
    state: Annotated[tuple[StateTableEntry, ...], Meta(min_length=1)]
    extends: Name | None = None
    removes: tuple[str, ...] = ()
    isolation: Literal["read committed", "repeatable read", "serializable"] = "read committed"
    work_in_claim_transaction: bool = False
    tidies_up: bool = False
    autocommit: tuple[Name, ...] = ()
    session: SessionTable = SessionTable()
    worker: WorkerTable = WorkerTable()
    connections: dict[str, tuple[Name, ...]] = field(default_factory=dict)
    results: dict[str, dict[str, Name]] = field(default_factory=dict)
    policies: PoliciesTable = PoliciesTable()
    effects: EffectsTable | None = None
    expects: ExpectsTable | None = None
