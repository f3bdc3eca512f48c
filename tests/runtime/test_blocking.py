"""Statements that wait for locks: recorded with their blockers, freed one at a time, in an order that a decision fixes."""

from __future__ import annotations

from pathlib import Path

import pytest

from simrunner.errors import Divergence
from simrunner.model.event import Event
from simrunner.model.tape import WAKE, Decision
from simrunner.runtime.coordinator import Request, execute
from simrunner.runtime.database import Database
from simrunner.store.reader import load
from tests.runtime.runs import QUIET, Run, design_folder, new_folder, request, run, script_file

SAME_ROW = ("worker-a begin", "worker-a amend job=1", "worker-b amend job=1")
LEADER = "SELECT id FROM queue_jobs, pg_advisory_xact_lock(7) WHERE id = :'job_id' AND :priority IS NOT NULL"
FOLLOWER = """
UPDATE queue_jobs SET payload = :'payload', last_error = 'taken'
WHERE id = 3 AND last_error IS NULL AND :'job_id'::bigint > 0 AND (SELECT count(pg_advisory_xact_lock_shared(7))) = 1
RETURNING id
"""
"""Whoever goes on first after the leader's end takes job 3."""


def what(event: Event) -> tuple[str, str | None, str | None]:
    return event.kind, event.actor, event.value


def outcomes(run: Run, *kinds: str) -> list[tuple[str, str | None, str | None]]:
    return [what(event) for event in run.events if event.kind in kinds]


def test_a_blocked_statement_names_its_blocker_and_others_go_on(database: Database, tmp_path: Path) -> None:
    steps = (*SAME_ROW, "worker-c claim", "worker-a commit")
    done = run(database, tmp_path, request(script_file(tmp_path, *steps)))
    (blocked,), (freed,) = done.of("blocked"), done.of("freed")
    assert (blocked.actor, blocked.operation, blocked.value, blocked.blocked_by) == ("worker-b", "amend", "1", "worker-a")
    (other,) = done.of("ok", actor="worker-c", operation="claim", value="COMMIT")
    (commit,) = done.of("ok", actor="worker-a", value="COMMIT")
    assert blocked.seq < other.seq < commit.seq < freed.seq
    assert freed.actor == "worker-b"
    assert [event.rows for event in done.of("ok", actor="worker-b", value="1")] == [1]


def test_a_chain_of_waiters_names_whom_each_waits_for(database: Database, tmp_path: Path) -> None:
    """Waiters for one row queue up behind each other: the second waits for the first."""
    steps = (*SAME_ROW, "worker-c amend job=1", "worker-a commit")
    done = run(database, tmp_path, request(script_file(tmp_path, *steps)))
    assert [(event.actor, event.blocked_by) for event in done.of("blocked")] == [
        ("worker-b", "worker-a"),
        ("worker-c", "worker-b"),
    ]
    assert [event.actor for event in done.of("freed")] == ["worker-b", "worker-c"]
    assert [decision for decision in done.decisions() if decision.kind == WAKE] == []


def test_a_statement_that_two_hold_up_waits_for_both(database: Database, tmp_path: Path) -> None:
    """The server waits for one locker after another: the end of the first must not pass for the end of the wait."""
    holders = [f"worker-{name} {do}" for name in "ba" for do in ("begin", "candidates lock=FOR_SHARE")]
    waiter = ["worker-c begin", "worker-c candidates lock=FOR_UPDATE"]
    text = script_file(tmp_path, *holders, *waiter, "worker-b commit", "worker-d claim", "worker-a commit")
    text.write_text(text.read_text().replace("FOR_", "FOR "))
    done = run(database, tmp_path, request(text))
    (freed,) = done.of("freed")
    assert freed.actor == "worker-c"
    assert freed.step == done.of("ok", actor="worker-a", value="COMMIT")[0].step
    assert [event.rows for event in done.of("ok", actor="worker-c", value="1")] == [3]


def test_a_failed_statement_frees_its_waiters_at_once(database: Database, tmp_path: Path) -> None:
    """The server releases an aborted transaction's locks at the error, not at the ROLLBACK."""
    steps = (*SAME_ROW, "worker-c amend job=1", "worker-a amend job=no-number", "worker-a rollback")
    done = run(database, tmp_path, request(script_file(tmp_path, *steps)))
    (failed,) = done.of("failed")
    freed = done.of("freed")
    assert failed.sqlstate == "22P02"
    assert [event.actor for event in freed] == ["worker-b", "worker-c"]
    assert freed[0].step == failed.step
    assert freed[1].seq < done.of("sent", value="ROLLBACK")[0].seq


def wake_request(tmp_path: Path, decisions: list[Decision] | None = None, *, reuse: bool = False) -> Request:
    design = design_folder(tmp_path, {"reprioritize": LEADER, "amend": FOLLOWER})
    steps = (
        "worker-a begin",
        "worker-a reprioritize job=1 priority=0",
        "worker-b amend job=1",
        "worker-c amend job=2",
        "worker-a commit",
    )
    return request(script_file(tmp_path, *steps), design, decisions=decisions, reuse=reuse)


@pytest.mark.parametrize("chosen", ["worker-b", "worker-c"])
def test_the_decision_says_which_waiter_wins(database: Database, tmp_path: Path, chosen: str) -> None:
    """Both are freed by one COMMIT and want one job: the tape's WAKE decides who gets it, ten times out of ten."""
    tape = run(database, tmp_path, wake_request(tmp_path)).decisions()
    place = next(place for place, decision in enumerate(tape) if decision.kind == WAKE)
    prefix = [*tape[:place], tape[place]._replace(actor=chosen)]
    for _ in range(10):
        wanted = wake_request(tmp_path, prefix, reuse=True)
        with new_folder(tmp_path, wanted) as folder:
            with pytest.raises(Divergence, match="the tape ends"):
                execute(wanted, folder, database, QUIET)
            events = load(folder).events
        freed = [(event.actor, event.step) for event in events if event.kind == "freed"]
        won = [event.actor for event in events if event.kind == "ok" and event.operation == "amend" and event.rows == 1]
        assert [actor for actor, _ in freed] == [chosen]
        assert won == [chosen]


def test_the_loser_goes_on_after_the_winner(database: Database, tmp_path: Path) -> None:
    done = run(database, tmp_path, wake_request(tmp_path))
    (wake,) = [decision for decision in done.decisions() if decision.kind == WAKE]
    results = [(event.actor, event.rows) for event in done.of("ok", operation="amend", value="1")]
    loser = ({"worker-b", "worker-c"} - {wake.actor}).pop()
    assert results == [(wake.actor, 1), (loser, 0)]


@pytest.mark.parametrize("closer", ["worker-a", "worker-b"])
def test_who_closes_a_cycle_is_the_victim(database: Database, tmp_path: Path, closer: str) -> None:
    other = "worker-b" if closer == "worker-a" else "worker-a"
    steps = [f"{closer} begin", f"{closer} amend job=1", f"{other} begin", f"{other} amend job=2"]
    workload = script_file(tmp_path, *steps, f"{other} amend job=1", f"{closer} amend job=2", f"{closer} rollback")
    for number in range(10):
        done = run(database, tmp_path, request(workload, reuse=number > 0))
        assert [(event.actor, event.sqlstate) for event in done.of("failed")] == [(closer, "40P01")]
        assert [event.actor for event in done.of("blocked")] == [other]
        assert [event.actor for event in done.of("freed")] == [other]


def test_an_orphan_stays_a_waiter_until_it_is_freed(database: Database, tmp_path: Path) -> None:
    """A backend that waits for a lock cannot notice that its client has died."""
    steps = (*SAME_ROW, "worker-b kill", "worker-c amend job=1", "worker-c claim", "worker-a commit")
    done = run(database, tmp_path, request(script_file(tmp_path, *steps)))
    (ended,), (gone,) = done.of("process-end", value="SIGKILL"), done.of("backend-gone")
    (commit,) = done.of("ok", actor="worker-a", value="COMMIT")
    assert (ended.actor, gone.actor) == ("worker-b", "worker-b")
    assert ended.seq < commit.seq < gone.seq
    assert (gone.session, gone.txn) == (ended.session, ended.txn)
    assert [event.actor for event in done.of("unknown")] == ["worker-b"]
    assert [event.actor for event in done.of("renewal", job=1)] == ["worker-a"]
    assert done.of("blocked", actor="worker-c")[0].blocked_by == "worker-b"
    assert done.of("freed", actor="worker-c")[0].seq > gone.seq


def test_waiters_and_orphans_behind_one_transaction_are_one_history(database: Database, tmp_path: Path) -> None:
    steps = (*SAME_ROW, "worker-c amend job=1", "worker-b kill", "worker-d amend job=1", "worker-d kill", "worker-a commit")
    workload = script_file(tmp_path, *steps)
    assert len({run(database, tmp_path, request(workload, reuse=number > 0)).sha256 for number in range(6)}) == 1


def test_a_kill_frees_those_that_waited(database: Database, tmp_path: Path) -> None:
    done = run(database, tmp_path, request(script_file(tmp_path, *SAME_ROW, "worker-a kill", "worker-b claim")))
    (freed,), (gone,) = done.of("freed"), done.of("backend-gone")
    assert gone.actor == "worker-a"
    assert (freed.actor, freed.step) == ("worker-b", gone.step)
    assert [event.actor for event in done.of("renewal", job=1)] == ["worker-b"]
