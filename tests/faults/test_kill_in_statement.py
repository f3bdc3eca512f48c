"""A kill in the middle of a statement: the server really executes it, and for whom it commits is read from the database."""

from __future__ import annotations

from pathlib import Path

import pytest

from simrunner.history.history import History
from simrunner.model.tape import KILL_IN_STATEMENT
from simrunner.model.verdict import Verdict
from simrunner.runtime import process
from simrunner.runtime.database import Database
from simrunner.runtime.process import Process
from tests.faults.repeats import histories, repeated, root_causes, struck
from tests.runtime.outside import Outside, is_there
from tests.runtime.runs import request, run

WORKLOAD = "killed-in-statement"
EXECUTING = "SELECT pid FROM pg_stat_activity WHERE state = 'active' AND wait_event = 'advisory' AND query LIKE '%SKIP LOCKED%'"


def test_ten_runs_are_one_history_and_a_transaction_leaves_nothing(database: Database) -> None:
    runs = repeated(database, WORKLOAD)
    assert len(histories(runs)) == 1
    assert root_causes(runs) == {None}
    assert [kind for kind, _ in struck(runs[0])] == [KILL_IN_STATEMENT] * 2


@pytest.mark.parametrize(
    ("design", "root_cause"), [("mutants/autocommit-claim", "claim-batch-bound"), ("variants/autocommit-checked", None)]
)
def test_a_claim_without_a_transaction(database: Database, design: str, root_cause: str | None) -> None:
    """It commits for nobody, unless the server looks whether its client is still there."""
    runs = repeated(database, WORKLOAD, design)
    assert len(histories(runs)) == 1
    assert root_causes(runs) == {root_cause}
    assert [kind for kind, _ in struck(runs[0])] == [KILL_IN_STATEMENT] * 2


def test_the_server_is_in_the_middle_of_the_claim(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen from pg_stat_activity when the signal is sent; the design's audit trail has the claim of a process that is dead."""
    outside = Outside(database)
    executing: list[list[int]] = []
    really_kill = process.kill

    def kill(one: Process) -> str:
        executing.append(outside.ask(EXECUTING))
        return really_kill(one)

    monkeypatch.setattr(process, "kill", kill)
    done = run(database, tmp_path, request(WORKLOAD, "mutants/autocommit-claim"))
    faults = done.of("fault", value=KILL_IN_STATEMENT)
    assert executing[:2] == [[fault.backend_pid] for fault in faults]
    assert not any(is_there(fault.os_pid or 0) for fault in faults)
    for fault in faults:
        (claim,) = done.of("transition", actor=fault.actor, incarnation=fault.incarnation, txn=fault.txn)
        (gone,) = done.of("backend-gone", session=fault.session)
        assert claim.seq > gone.seq
        assert done.of("read", txn=fault.txn) == []
        audited = [row for row in History(*done.stored).context.audit or () if row.token == claim.token]
        assert [row.to_state for row in audited] == ["claimed", "ready"]
    outside.close()


def test_a_claim_that_finds_nothing_is_not_struck(database: Database, tmp_path: Path) -> None:
    """It changes no row, so there is no middle to stand still in: the run says that the fault was missed."""
    settings = {"fixture.jobs": "1", "producers.0.jobs_per_round": "0", "faults.0.round": "2", "must_exercise": ""}
    done = run(database, tmp_path, request(WORKLOAD, settings=settings))
    assert done.of("fault") == []
    assert done.verdict().verdict is Verdict.NOT_EXERCISED
