"""Somebody else's old snapshot: nothing that dies after it is removed, and a claim walks over all of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simrunner.config import load_workload
from simrunner.errors import Interrupted
from simrunner.model.tape import HOLD_SNAPSHOT
from simrunner.runtime import libpq
from simrunner.runtime.coordinator import execute
from simrunner.runtime.database import Database
from simrunner.runtime.emptying import cleans_up
from tests.faults.repeats import histories, repeated, root_causes
from tests.runtime.outside import Outside
from tests.runtime.runs import FAULTS, Run, backends, new_folder, request, run, workload_file

WORKLOAD, PASSES, FAILS = "held-snapshot", "variants/low-water", "mutants/claim-from-the-head"
SHORT = {"safety.rounds": "8", "faults.0.round": "3", "faults.0.rounds": "4"}
HOLDERS = (
    "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE '%bystander%'"
    " AND state = 'idle in transaction' AND backend_xmin IS NOT NULL"
)
HELD = f'[[faults]]\nkind = "{HOLD_SNAPSHOT}"\nround = 2\nrounds = 3\n'


def costs(done: Run) -> dict[str, list[int]]:
    """What claims fetched, by phase."""
    found: dict[str, list[int]] = {"safety": [], "liveness": []}
    for event in done.of("report", operation="claim"):
        found[event.phase].append(int(event.value or 0))
    return found


@pytest.mark.parametrize("design", [PASSES, FAILS])
def test_ten_runs_are_one_history(database: Database, design: str) -> None:
    """Also of a claim that walks over what is dead: where that lies, and what it costs, is the same each time."""
    runs = repeated(database, WORKLOAD, design, times=10 if design == PASSES else 2, settings=SHORT)
    assert len(histories(runs)) == 1
    assert root_causes(runs) == {None}


def test_a_claim_that_begins_at_the_head_costs_more_and_more(database: Database, tmp_path: Path) -> None:
    """Without a VACUUM: what the snapshot keeps is cleaned up on the way as soon as it is let go."""
    done = run(database, tmp_path, request(WORKLOAD, FAILS))
    verdict = done.verdict()
    assert verdict.root_cause == "bounded-claim-cost"
    assert {row.name for row in verdict.invariants if row.promised and row.violations} == {"bounded-claim-cost"}
    spent = costs(done)
    assert max(spent["safety"]) > 2 * max(spent["safety"][:20])
    assert spent["liveness"][-1] < max(spent["safety"]) / 2


def test_the_database_has_the_snapshot_and_cannot_clean_up(database: Database, tmp_path: Path) -> None:
    """Seen in pg_stat_activity, and by a VACUUM of somebody else before each round: it may not remove what has died since."""
    looks: dict[tuple[str, int], tuple[int, int]] = {}
    kept: list[int] = []
    vacuum = libpq.connect(database.conninfo("vacuum"))
    vacuum.notice_handler = lambda notice: kept.extend(map(int, re.findall(rb"(\d+) are dead but not yet", notice.error_message)))

    def at(outside: Outside) -> bool:
        if outside.entered:
            libpq.expect(libpq.run(vacuum, "VACUUM (VERBOSE, PROCESS_TOAST false) queue_jobs"), "vacuuming")
            looks[outside.phase, outside.round] = (outside.ask(HOLDERS)[0], kept[-1])
        return False

    outside = Outside(database, at)
    done = run(database, tmp_path, request(WORKLOAD, PASSES, settings=SHORT), outside.watcher())
    outside.close()
    vacuum.finish()
    assert [(event.value, event.actor, event.round) for event in done.of("fault")] == [
        (HOLD_SNAPSHOT, "observer", 3),
        (f"end of {HOLD_SNAPSHOT}", "observer", 7),
    ]
    holders = [looks["safety", number][0] for number in range(1, 9)]
    dead = [looks["safety", number][1] for number in range(1, 9)]
    assert holders == [0] * 3 + [1] * 4 + [0]
    assert dead[:3] == [0] * 3
    assert 0 < dead[3] < dead[4] < dead[5] < dead[6]
    assert dead[7] == 0


def test_it_ends_with_the_safety_phase(database: Database, tmp_path: Path) -> None:
    held = {(phase, number): count for phase, number, count in _held(database, tmp_path, "99")}
    assert held["safety", 8] == 1
    assert held["liveness", 1] == 0


def _held(database: Database, tmp_path: Path, rounds: str) -> list[tuple[str, int, int]]:
    found: list[tuple[str, int, int]] = []

    def at(outside: Outside) -> bool:
        if outside.entered:
            found.append((outside.phase, outside.round, outside.ask(HOLDERS)[0]))
        return False

    outside = Outside(database, at)
    run(database, tmp_path, request(WORKLOAD, PASSES, settings={**SHORT, "faults.0.rounds": rounds}), outside.watcher())
    outside.close()
    return found


def test_several_are_held_and_let_go_one_by_one(database: Database, tmp_path: Path) -> None:
    longer = '[[faults]]\nkind = "hold-snapshot"\nround = 3\nrounds = 4\n'
    path = workload_file(tmp_path, "smoke", [(FAULTS, HELD)], longer)
    done = run(database, tmp_path, request(path, settings={"safety.rounds": "8"}))
    assert [(event.value, event.round) for event in done.of("fault")] == [
        (HOLD_SNAPSHOT, 2),
        (HOLD_SNAPSHOT, 3),
        (f"end of {HOLD_SNAPSHOT}", 5),
        (f"end of {HOLD_SNAPSHOT}", 7),
    ]


def test_a_crash_of_the_server_ends_it(database: Database, tmp_path: Path) -> None:
    crash = '[[faults]]\nkind = "server-crash"\nactor = "worker-a"\ncrash_point = "before-claim"\nround = 3\n'
    path = workload_file(tmp_path, "smoke", [(FAULTS, HELD)], crash)
    runs = repeated(database, str(path), times=2, settings={"safety.rounds": "8"})
    assert len(histories(runs)) == 1
    assert root_causes(runs) == {None}
    faults = [event.value for event in runs[0].memory.events if event.kind == "fault"]
    assert faults == [HOLD_SNAPSHOT, "server-crash"]


def test_an_interrupted_run_leaves_no_session(database: Database, tmp_path: Path) -> None:
    def at(outside: Outside) -> bool:
        if outside.ask(HOLDERS) == [1]:
            raise Interrupted("stopped")
        return False

    outside = Outside(database, at)
    wanted = request(WORKLOAD, PASSES, settings=SHORT)
    with new_folder(tmp_path, wanted) as folder, pytest.raises(Interrupted):
        execute(wanted, folder, database, outside.watcher())
    outside.close()
    assert [name for name in backends(database) if "bystander" in name] == []


def test_the_next_run_has_fresh_tables(tmp_path: Path) -> None:
    """What it has kept lies in their pages."""
    calm = workload_file(tmp_path, "smoke", [(FAULTS, "")])
    assert not cleans_up(load_workload(str(calm)))
    assert cleans_up(load_workload(str(workload_file(tmp_path, "smoke", [(FAULTS, HELD)]))))
