"""Every bound of simrunner in one record, so that a reader sees all of them at once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds that keep every wait, queue and loop finite. Units are the last part of each name."""

    step_seconds: float = 30.0
    """A released step must finish or be blocked by another actor within this time."""
    spec_step_seconds: float = 300.0
    """A step of an isolation spec is cancelled when it has not ended by then, as isolationtester does."""
    spec_blocked_seconds: float = 10.0
    """A step of an isolation spec that waits for a lock is given up after this time if only it could go on: lock time-outs and
    the deadlock detector have had their turn."""
    backend_gone_seconds: float = 30.0
    """A backend that was told to end, or whose client was killed, must have left pg_stat_activity within this time. It takes
    milliseconds, but on a machine that is short of processors it must first get one, as the step of an actor must."""
    server_start_seconds: float = 60.0
    server_kill_seconds: float = 8.0
    """An immediate shutdown must end within this time; after 5 s of it the server itself kills its processes."""
    connect_seconds: int = 10
    """A server behind --dsn must answer within this time, unless the DSN has a connect_timeout of its own."""
    interrupt_seconds: float = 2.0
    """After Ctrl-C workers and backends are gone within this time."""
    coordinator_end_seconds: float = 10.0
    """A campaign's coordinator that is told to end finishes its schedule and stops its server within this time, or is killed."""
    free_bytes_min: int = 1 << 29
    """`doctor` warns of less room than this where runs are kept and where the server's files are."""
    socket_path_bytes: int = 107
    """The longest path of a Unix socket (sun_path, unix(7))."""
    probe_rows_max: int = 4096
    """A probe stops doubling its LIMIT here; beyond, it is recorded as not observable."""
    barriers: int = 16
    """Barriers made before the first fork: one per poisoned round, plus one."""
    parquet_rows_per_part: int = 500_000
    workers_max: int = 64
    jobs_max: int = 1_000_000
    rounds_max: int = 100_000
    payload_bytes_max: int = 1_900
    """Longer ones the server may keep compressed, or apart from their rows."""
    witness_events_max: int = 40
    """A finding shows at most this many witness events."""
    findings_per_invariant_max: int = 1000
    """Further findings of one invariant are counted, not stored."""


LIMITS = Limits()
