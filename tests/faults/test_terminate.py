"""Terminate: a worker that tidies up gives its job back at once; one that does not is dead, and its job waits for its lease."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from simrunner.model.verdict import Verdict
from simrunner.runtime.database import Database
from tests.faults.repeats import histories, repeated, root_causes
from tests.runtime.outside import IN_TRANSACTION, Outside, is_there, state_of
from tests.runtime.runs import Run, design_folder, request, run

WORKLOAD = "rolling-restart"
TOLD = 3


def ran(database: Database, tmp_path: Path, design: str | Path) -> tuple[Run, Outside]:
    outside = Outside(database)
    try:
        return run(database, tmp_path, request(WORKLOAD, design), outside.watcher()), outside
    finally:
        outside.close()


def test_ten_runs_are_one_history_and_the_reference_keeps_its_promises(database: Database) -> None:
    runs = repeated(database, WORKLOAD)
    assert len(histories(runs)) == 1
    assert root_causes(runs) == {None}


@pytest.mark.parametrize(
    ("design", "root_cause"),
    [
        ("mutants/release-keeps-token", "ownership-complete"),
        ("mutants/exit-without-release", "no-job-lost"),
        ("mutants/claims-early", "claim-due"),  # what was given back may not be claimed before its delay is over
        ("mutants/no-recovery", None),  # whoever is told to end gives back what it holds: nothing is left to recover
    ],
)
def test_what_a_design_makes_of_it(database: Database, design: str, root_cause: str | None) -> None:
    runs = repeated(database, WORKLOAD, design, times=2)
    assert len(histories(runs)) == 1
    assert root_causes(runs) == {root_cause}


def test_a_tidy_worker_exits_by_itself_and_its_jobs_are_ready_at_once(database: Database, tmp_path: Path) -> None:
    done, outside = ran(database, tmp_path, "reference")
    faults = done.of("fault", value="terminate")
    assert len(faults) == TOLD
    for fault in faults:
        (end,) = done.of("process-end", os_pid=fault.os_pid)
        assert end.value == "exit"
        assert not is_there(fault.os_pid or 0)
        assert done.of("backend-gone", backend_pid=fault.backend_pid)
        released = done.of("transition", actor=fault.actor, incarnation=fault.incarnation, operation="release")
        held = fault.crash_point != "after-claim-before-commit"
        assert [(one.from_state, one.to_state, one.round) for one in released] == [("claimed", "ready", fault.round)] * held
    assert done.of("transition", operation="recover") == []
    assert outside.left_behind == []
    assert done.verdict().verdict is Verdict.VALID


def test_an_untidy_worker_dies_of_the_signal(database: Database, tmp_path: Path) -> None:
    """The kernel says what ended it, its open transaction is gone with it, and its jobs wait for the end of their leases."""
    done, outside = ran(database, tmp_path, design_folder(tmp_path, {}, "tidies_up = false\n"))
    ends = [done.of("process-end", os_pid=fault.os_pid)[0].value for fault in done.of("fault", value="terminate")]
    assert ends == ["SIGTERM"] * TOLD
    assert done.of("transition", operation="release") == []
    assert len(done.of("transition", operation="recover")) == TOLD - 1
    assert outside.left_behind == []
    assert done.verdict().verdict is Verdict.VALID


def test_a_signal_from_outside_is_an_unplanned_crash(database: Database, tmp_path: Path) -> None:
    """Nobody decided it: the worker tidies up unasked, and is killed before that reaches the history."""

    def at(outside: Outside) -> bool:
        pid = outside.pids.get("worker-a", 0)
        if outside.phase != "safety" or outside.backend("worker-a", IN_TRANSACTION) is None:
            return False
        while not ignores(pid, signal.SIGTERM):
            os.kill(pid, signal.SIGTERM)  # again: one that comes just before it goes to sleep does not wake it
        while state_of(pid) != "S":
            pass  # until it has told that it tidies up, and waits for its turn
        return True

    outside = Outside(database, at)
    try:
        done = run(database, tmp_path, request("smoke", settings={"faults.0.round": "99"}), outside.watcher())
    finally:
        outside.close()
    (fault,) = done.of("fault")
    assert (fault.value, fault.actor) == ("unplanned-crash", "worker-a")
    assert outside.left_behind == []
    assert done.verdict().invariants
    assert not [row for row in done.verdict().invariants if row.violations]


def ignores(pid: int, number: signal.Signals) -> bool:
    """Whether a process ignores a signal now: see `SigIgn` in proc_pid_status(5)."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigIgn"))
    return bool(int(line.split()[1], 16) >> (number - 1) & 1)
