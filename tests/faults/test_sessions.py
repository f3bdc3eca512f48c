"""Faults that end the session of an actor that lives: it is really gone, what it committed is read from the database."""

from __future__ import annotations

from pathlib import Path

import pytest

from simrunner.model.event import Event
from simrunner.model.tape import LOSE_ACK, LOSE_COMMIT, TERMINATE_BACKEND
from simrunner.runtime.database import Database
from simrunner.search.explorer import Played
from tests.faults.repeats import histories, repeated, root_causes, struck
from tests.runtime.outside import BLOCKED, Outside
from tests.runtime.runs import ROOT, request, run, workload_file

SESSION, ACKNOWLEDGEMENT = "lost-session", "lost-acknowledgement"
WAITING = """
[[faults]]
kind = "pause"
actor = "worker-a"
crash_point = "after-claim-before-commit"
round = 1
rounds = 3
[[faults]]
kind = "slow-start"
actor = "worker-b"
round = 1
rounds = 1
[[faults]]
kind = "lose-ack"
actor = "worker-b"
at = "claim:1"
round = 2
"""
"""worker-b's claim, whose acknowledgement is lost, waits for the row that worker-a has locked."""


def lost(one: Played, kind: str, operation: str) -> Event:
    """The COMMIT of an operation whose outcome a fault of the kind made unknown."""
    events = one.memory.events
    fault = next(event for event in events if event.value == kind and events[event.seq].operation == operation)
    return next(event for event in events[fault.seq :] if event.kind == "unknown")


def test_ten_runs_are_one_history_and_a_token_fences_where_a_lock_does_not(database: Database) -> None:
    runs = repeated(database, SESSION)
    assert len(histories(runs)) == 1
    assert root_causes(runs) == {None}
    assert [kind for kind, _ in struck(runs[0])].count(TERMINATE_BACKEND) == 3


@pytest.mark.parametrize("seed", [1, 2])
def test_a_lock_that_was_lost_with_its_session_protects_nothing(database: Database, seed: int) -> None:
    runs = repeated(database, SESSION, "mutants/trusts-session-lock", times=2, seed=seed)
    assert len(histories(runs)) == 1
    assert root_causes(runs) == {"fenced-writes"}


def test_without_the_fault_the_lock_protects(database: Database) -> None:
    settings = {f"faults.{place}.round": "16" for place in (0, 2, 3)}
    assert root_causes(repeated(database, SESSION, "mutants/trusts-session-lock", times=1, settings=settings)) == {None}


def test_a_token_beside_the_lock_fences(database: Database) -> None:
    assert root_causes(repeated(database, SESSION, "variants/session-lock", times=1)) == {None}


def test_the_backend_and_its_locks_are_gone_and_the_process_lives(database: Database, tmp_path: Path) -> None:
    """Seen from pg_stat_activity and pg_locks: worker-a's process has one session with a lock, then none, then another."""
    seen: list[tuple[int, int | None, bool]] = []

    def at(outside: Outside) -> bool:
        backend = outside.backend("worker-a")
        locks = outside.ask("SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted")
        seen.append((outside.pids.get("worker-a", 0), backend, backend in locks))
        return False

    outside = Outside(database, at)
    try:
        done = run(database, tmp_path, request(SESSION, "mutants/trusts-session-lock"), outside.watcher())
    finally:
        outside.close()
    (fault,) = done.of("fault", value=TERMINATE_BACKEND, actor="worker-a")
    (next_one,) = done.of("session-start", actor="worker-a")
    first, second = fault.backend_pid, next_one.backend_pid
    begun = next(place for place, (_, backend, _) in enumerate(seen) if backend == first)
    sights = list(dict.fromkeys(seen[begun:]))
    assert {pid for pid, _, _ in sights} == {fault.os_pid}
    order = [(backend, locked) for _, backend, locked in sights]
    assert order[:4] == [(first, False), (first, True), (None, False), (second, False)]
    assert first not in [backend for backend, _ in order[2:]]


def test_ten_runs_with_lost_acknowledgements_are_one_history(database: Database) -> None:
    runs = repeated(database, ACKNOWLEDGEMENT)
    assert len(histories(runs)) == 1
    assert root_causes(runs) == {None}
    kinds = [kind for kind, _ in struck(runs[0])]
    assert sorted(kind or "" for kind in kinds) == [LOSE_ACK] * 3 + [LOSE_COMMIT] * 3


@pytest.mark.parametrize(("kind", "happened"), [(LOSE_COMMIT, False), (LOSE_ACK, True)])
def test_whether_it_happened_is_what_the_designs_own_audit_trail_says(database: Database, kind: str, happened: bool) -> None:
    (one, _) = repeated(database, ACKNOWLEDGEMENT, times=1)
    claim = lost(one, kind, "claim")
    assert one.final is not None
    assert one.final.audit is not None
    assert (claim.token in [row.token for row in one.final.audit if row.to_state == "claimed"]) is happened
    traces = [event for event in one.memory.events if event.kind == "transition" and event.txn == claim.txn]
    assert bool(traces) is happened


def test_a_statement_that_waits_loses_its_acknowledgement_when_it_has_one(database: Database, tmp_path: Path) -> None:
    """Seen from pg_stat_activity: as long as it waits its session is the only one; a client that was gone it could not notice."""
    text = (ROOT / "workloads" / f"{ACKNOWLEDGEMENT}.toml").read_text()
    faults = text[text.index("[[faults]]") : text.index("[policy]")]
    path = workload_file(tmp_path, ACKNOWLEDGEMENT, [(faults, ""), ("workers = 3", "workers = 2")], WAITING)
    seen: list[list[int]] = []

    def at(outside: Outside) -> bool:
        if outside.phase == "safety" and outside.round in (2, 3) and outside.backend("worker-b", BLOCKED) is not None:
            seen.append(outside.ask("SELECT pid FROM pg_stat_activity WHERE application_name = 'simrunner:worker-b'"))
        return False

    outside = Outside(database, at)
    try:
        done = run(database, tmp_path, request(str(path), "mutants/naive-subquery"), outside.watcher())
    finally:
        outside.close()
    (fault,) = done.of("fault", value=LOSE_ACK)
    assert {tuple(pids) for pids in seen} == {(fault.backend_pid,)}
    own = [event for event in done.events[fault.seq :] if event.actor == "worker-b" and event.kind != "probe"]
    assert [event.kind for event in own[:6]] == ["sent", "blocked", "freed", "unknown", "backend-gone", "session-start"]
    assert done.folder.run()["deterministic"] is True


def test_an_effect_whose_acknowledgement_was_lost_is_sent_again(database: Database, tmp_path: Path) -> None:
    """The worker cannot know that it has happened: only a key keeps it from happening twice."""
    done = run(database, tmp_path, request(ACKNOWLEDGEMENT, "mutants/effect-without-key"))
    assert done.verdict().root_cause == "effect-once"
    outside = Outside(database)
    assert outside.ask("SELECT count(*) FROM synthetic_effects GROUP BY job_id HAVING count(*) > 1") == [2]
    outside.close()
