"""Idle-timeout: the server ends the session of a worker that is stopped inside a transaction."""

from __future__ import annotations

from pathlib import Path

from simrunner.model.verdict import Verdict
from simrunner.runtime.database import Database
from tests.faults.repeats import histories, repeated, root_causes
from tests.runtime.outside import Outside, state_of
from tests.runtime.runs import request, run

WORKLOAD = "idle-owner"
STOPPED = "T"


def test_ten_runs_are_one_history_and_the_reference_refuses_the_stale_owner(database: Database) -> None:
    runs = repeated(database, WORKLOAD)
    assert len(histories(runs)) == 1
    assert root_causes(runs) == {None}


def test_a_completion_that_is_not_fenced_is_named(database: Database) -> None:
    assert root_causes(repeated(database, WORKLOAD, "mutants/unfenced-completion", times=1)) == {"fenced-writes"}


def test_the_session_is_gone_while_the_process_is_stopped(database: Database, tmp_path: Path) -> None:
    """Seen from /proc and pg_stat_activity: whoever is stopped has no session any more, and what it had locked is free."""
    seen: list[tuple[str, bool]] = []

    def at(outside: Outside) -> bool:
        for actor, pid in outside.pids.items():
            if state_of(pid) == STOPPED:
                seen.append((actor, outside.backend(actor) is not None))
        return False

    outside = Outside(database, at)
    try:
        done = run(database, tmp_path, request(WORKLOAD), outside.watcher())
    finally:
        outside.close()
    faults = done.of("fault", value="idle-timeout")
    assert len(faults) == 2
    assert {actor for actor, _ in seen} == {fault.actor for fault in faults}
    assert not any(there for _, there in seen)
    for fault in faults:
        (gone,) = done.of("backend-gone", backend_pid=fault.backend_pid)
        assert (gone.seq, gone.txn) == (fault.seq + 1, fault.txn)
        (unknown,) = done.of("unknown", actor=fault.actor, crash_point=fault.crash_point)
        assert (unknown.round or 0) > (fault.round or 0)
        assert done.of("transition", txn=fault.txn) == []
    assert done.verdict().verdict is Verdict.VALID
