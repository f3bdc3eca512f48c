"""The literal registry of faults."""

from __future__ import annotations

from simrunner.faults import (
    analyze_at,
    clock_jump,
    clock_skew,
    failing_statement,
    hold_snapshot,
    idle_timeout,
    kill,
    kill_in_statement,
    lose_connection,
    pause,
    reuse_identity,
    server_crash,
    slow_start,
    terminate,
    terminate_backend,
)
from simrunner.faults.fault import Fault

FAULTS: dict[str, Fault] = {
    fault.name: fault
    for fault in (
        kill.FAULT,
        pause.FAULT,
        terminate.FAULT,
        kill_in_statement.FAULT,
        terminate_backend.FAULT,
        lose_connection.BEFORE,
        lose_connection.AFTER,
        failing_statement.ERROR,
        failing_statement.LOCK,
        failing_statement.STATEMENT,
        clock_skew.FAULT,
        clock_jump.FAULT,
        server_crash.FAULT,
        reuse_identity.FAULT,
        slow_start.FAULT,
        analyze_at.FAULT,
        idle_timeout.FAULT,
        hold_snapshot.FAULT,
    )
}
