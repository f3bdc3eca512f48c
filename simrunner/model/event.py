"""One event of a history: its closed vocabulary of kinds and its columns.

A history is the ordered list of events of one run. `seq` is the total order. Two kinds of columns:

- canonical columns are fixed by design, workload, seed, PostgreSQL major version and simrunner version, and are hashed;
- observational columns (wall time, process ids, xids, notes) are never hashed and never judged.

Jobs, tokens and keys are integers: ordinals of first appearance in the run, from 1. Their texts stand in the run
folder's `names.json`. Times are microseconds since 1970-01-01 UTC. `actor` is a name such as `worker-a`; `incarnation`
counts its processes from 1. `session` and `txn` are ordinals of database sessions and of transactions in the run.
"""

from __future__ import annotations

from typing import NamedTuple

SCHEMA_VERSION = 2
"""Version of the event columns. A reader refuses a newer one."""

KINDS = (
    "run",  # value: start, end
    "phase",  # value: the phase that begins: setup, safety, liveness, end
    "seed",  # a job of the fixture, as committed when the run began
    "clock",  # value: milliseconds by which the virtual clock was advanced; virtual_time is the new time
    "sent",  # a statement was sent to the server; value: its label
    "blocked",  # the statement waits for a lock; blocked_by: the actors that hold it up
    "freed",  # it waits no longer; its ok or failed follows
    "ok",  # the statement succeeded; rows: rows returned or changed
    "failed",  # it surely did not happen; sqlstate says why
    "unknown",  # whether it happened is not known to the client
    "transition",  # a committed change of a job's (state, generation)
    "renewal",  # any other committed change of a job's row, e.g. only its lease
    "effect",  # a committed effect of a job
    "read",  # one row that a read or a claim returned to its client
    "probe",  # one candidate of a claim, read just before it was sent
    "notify",
    "report",
    "work-start",
    "work-end",
    "fault",  # a fault was injected (or seen: an unplanned crash); value: its kind
    "process-start",
    "process-end",  # value: how it ended
    "backend-gone",  # the server process of a dead session has left; its locks are free
    "session-start",  # a living process that lost its session has another
    "server-restart",
)

PHASES = ("setup", "safety", "liveness", "end")

OBSERVER = "observer"
"""The actor of events that nobody's step caused: seed, phase, final reads."""
SERVER = "server"
"""The actor of transitions that a server restart caused."""


class Event(NamedTuple):
    """One row of a history. See docs/events.md for which kind fills which column."""

    seq: int
    phase: str
    round: int | None = None
    step: int | None = None
    actor: str | None = None
    incarnation: int | None = None
    session: int | None = None
    txn: int | None = None
    kind: str = "run"
    operation: str | None = None
    crash_point: str | None = None
    job: int | None = None
    cohort: str | None = None
    generation: int | None = None
    attempt: int | None = None
    token: int | None = None
    key: int | None = None
    group: str | None = None
    from_state: str | None = None
    to_state: str | None = None
    owner: str | None = None
    held: int | None = None
    lease_until: int | None = None
    available_at: int | None = None
    order_key: str | None = None
    rank: int | None = None
    rows: int | None = None
    value: str | None = None
    sqlstate: str | None = None
    blocked_by: str | None = None
    snapshot_seq: int | None = None
    txn_time: int | None = None
    virtual_time: int | None = None
    # observational
    wall_time: int | None = None
    duration_us: int | None = None
    os_pid: int | None = None
    backend_pid: int | None = None
    xid: int | None = None
    note: str | None = None


OBSERVATIONAL = ("wall_time", "duration_us", "os_pid", "backend_pid", "xid", "note")
CANONICAL = tuple(name for name in Event._fields if name not in OBSERVATIONAL)
"""The hashed columns, in schema order."""
