"""A crash of the server: it really recovers from its log, and what that did not hold is really gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from simrunner.errors import WorkloadError
from simrunner.model.event import SERVER
from simrunner.model.tape import SERVER_CRASH
from simrunner.runtime import libpq
from simrunner.runtime.database import Database
from simrunner.search.explorer import Played
from simrunner.search.request import check_server, prepare
from tests.faults.repeats import histories, repeated, root_causes, struck
from tests.runtime.outside import Outside, is_there
from tests.runtime.runs import request, run

WORKLOAD, ASYNCHRONOUS = "crashing-server", "mutants/asynchronous-commit"


def undone(one: Played) -> int:
    """Transitions with which a crash took something back."""
    return sum(1 for event in one.memory.events if event.kind == "transition" and event.actor == SERVER)


def test_ten_runs_are_one_history_and_nothing_is_lost(database: Database) -> None:
    runs = repeated(database, WORKLOAD)
    assert len(histories(runs)) == 1
    assert root_causes(runs) == {None}
    assert struck(runs[0]) == [(SERVER_CRASH, SERVER)] * 2
    assert {undone(one) for one in runs} == {0}


def test_what_was_committed_asynchronously_is_lost_each_time_alike(database: Database) -> None:
    runs = repeated(database, WORKLOAD, ASYNCHRONOUS)
    assert len(histories(runs)) == 1
    assert root_causes(runs) == {"claim-durable"}
    assert undone(runs[0]) > 2


@pytest.mark.parametrize("seed", [2, 3])
def test_the_loss_is_no_matter_of_luck(database: Database, seed: int) -> None:
    assert root_causes(repeated(database, WORKLOAD, ASYNCHRONOUS, times=1, seed=seed)) == {"claim-durable"}


def test_locks_of_sessions_are_gone(database: Database) -> None:
    """worker-a's session ends by the crash and not by itself: its lock protects its job no longer."""
    settings = {"faults.0.kind": SERVER_CRASH, "faults.2.round": "16", "faults.3.round": "16", "faults.4.round": "2"}
    runs = repeated(database, "lost-session", "mutants/trusts-session-lock", times=1, settings=settings)
    assert root_causes(runs) == {"fenced-writes"}


def test_the_server_recovers_from_its_log(database: Database, tmp_path: Path) -> None:
    """Seen from the server's own log and from the process table; the acknowledged claim is in its table afterwards."""
    settings = {"faults.1.round": "12", "safety.rounds": "3", "liveness.rounds": "1"}
    done = run(database, tmp_path, request(WORKLOAD, settings=settings))
    (fault,) = done.of("fault")
    (restart,) = done.of("server-restart")
    assert restart.seq == fault.seq + 1
    session = libpq.connect(database.conninfo("test"))
    ((data,),) = libpq.run(session, "SHOW data_directory").rows
    session.finish()
    log = Path(str(data)).with_name("log").read_text()
    assert "automatic recovery in progress" in log
    assert "redo starts at" in log
    gone = done.of("backend-gone")
    assert [event.seq for event in gone[:5]] == list(range(restart.seq + 1, restart.seq + 6))
    assert not any(is_there(event.backend_pid or 0) for event in gone)
    claims = [event for event in done.of("transition", to_state="claimed") if event.seq < fault.seq]
    outside = Outside(database)
    assert len(outside.ask("SELECT attempt FROM job_events WHERE to_state = 'claimed'")) >= len(claims) > 2
    outside.close()


def test_a_server_that_is_not_ours_is_not_crashed() -> None:
    wanted = prepare(WORKLOAD, "reference", {}, seed=1, mode="stepped", strategy=None)
    check_server(wanted.workload, None)
    with pytest.raises(
        WorkloadError, match=r"crashing-server.toml:\d+: faults\[0\].kind: server-crash needs a server of simrunner's"
    ):
        check_server(wanted.workload, "host=elsewhere")
