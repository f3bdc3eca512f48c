"""Scripts: whole opportunities, repeated steps, waiting for a lease, recovery in batches, sessions without a claim."""

from __future__ import annotations

from pathlib import Path

from simrunner.model.event import OBSERVER, Event
from simrunner.runtime.database import Database
from tests.runtime.runs import Run, request, run, script_file

CLAIMED_AND_KILLED = ("worker-a claim", "worker-a kill crash_point=after-commit", "- advance claim_of=worker-a ms=1")


def play(database: Database, tmp_path: Path, *steps: str, design: str = "reference", jobs: int = 3) -> Run:
    return run(database, tmp_path, request(script_file(tmp_path, *steps, jobs=jobs), design))


def operations(done: Run, actor: str) -> list[str | None]:
    """What each transaction of an actor was, in order."""
    return [event.operation for event in done.of("ok", actor=actor, value="COMMIT")]


def transitions(done: Run, **columns: object) -> list[tuple[int | None, str | None, str | None]]:
    return [(event.job, event.from_state, event.to_state) for event in done.of("transition", **columns)]


def test_work_is_all_that_a_worker_does_and_is_repeated(database: Database, tmp_path: Path) -> None:
    done = play(database, tmp_path, "worker-a work times=3")
    assert operations(done, "worker-a") == ["claim", "effect", "complete"] * 3
    assert [event.job for event in done.of("transition", to_state="done")] == [1, 2, 3]
    assert {event.round for event in done.of("ok")} == {1}


def test_a_repeated_step_stops_where_its_actor_waits(database: Database, tmp_path: Path) -> None:
    holding = ("holder begin", "holder amend job=1")
    done = play(database, tmp_path, *holding, "worker-a amend job=1 times=3", "holder commit")
    assert len(done.of("sent", actor="worker-a", value="1")) == 1
    assert [event.value for event in done.of("report")] == []
    assert operations(done, "worker-a") == ["amend"]


def test_the_step_after_an_advance_to_a_lease_is_taken_exactly_then(database: Database, tmp_path: Path) -> None:
    steps = ("worker-a claim", "- advance claim_of=worker-a", "early begin", "late begin", "early recover", "early commit")
    done = play(database, tmp_path, *steps, "late recover", "late commit")
    (claim,) = done.of("read", actor="worker-a")
    began = {actor: done.of("sent", actor=actor, value="BEGIN")[0].txn_time for actor in ("early", "late")}
    assert claim.lease_until is not None
    assert began == {"early": claim.lease_until, "late": claim.lease_until + 1000}
    assert [event.rows for event in done.of("ok", operation="recover", value="1")] == [0, 1]


def test_without_a_claim_there_is_no_lease_to_wait_for(database: Database, tmp_path: Path) -> None:
    done = play(database, tmp_path, "worker-a amend job=1", "- advance claim_of=worker-b ms=7")
    assert [event.value for event in done.of("clock")] == ["7"]


def test_a_session_that_claimed_nothing_has_nothing_to_work_on(database: Database, tmp_path: Path) -> None:
    own = ("worker-b work-start", "worker-b effect", "worker-b complete")
    done = play(database, tmp_path, "worker-a claim", "worker-b claim", *own, jobs=1)
    assert operations(done, "worker-b") == ["claim"]
    assert done.of("work-start") == []


def test_a_kill_is_recorded_where_the_script_says_it_struck(database: Database, tmp_path: Path) -> None:
    done = play(database, tmp_path, *CLAIMED_AND_KILLED)
    assert [(event.actor, event.crash_point) for event in done.of("fault")] == [("worker-a", "after-commit")]


def test_batches_go_on_until_one_is_empty_and_a_last_pass_follows(database: Database, tmp_path: Path) -> None:
    claims = ("worker-b claim", *CLAIMED_AND_KILLED)
    done = play(database, tmp_path, *claims, "recoverer recover", design="variants/batched-recovery")
    assert operations(done, "recoverer") == ["recover-batch", "recover-batch", "recover-batch", "recover"]
    assert transitions(done, operation="recover-batch") == [(1, "claimed", "ready"), (2, "claimed", "ready")]


def test_a_batch_passes_over_the_locked_row_and_the_last_pass_waits_for_it(database: Database, tmp_path: Path) -> None:
    locked = ("worker-b claim", *CLAIMED_AND_KILLED, "holder begin", "holder amend job=1", "recoverer recover")
    done = play(database, tmp_path, *locked, "holder commit", design="variants/batched-recovery")
    assert [(event.operation, event.blocked_by) for event in done.of("blocked")] == [("recover", "holder")]
    assert transitions(done, operation="recover-batch") == [(2, "claimed", "ready")]
    assert transitions(done, operation="recover") == [(1, "claimed", "ready")]


def test_the_set_wise_recovery_waits_and_recovers_nothing_meanwhile(database: Database, tmp_path: Path) -> None:
    locked = ("worker-b claim", *CLAIMED_AND_KILLED, "holder begin", "holder amend job=1", "recoverer recover")
    done = play(database, tmp_path, *locked, "worker-c claim", "holder commit", jobs=2)
    (empty,) = done.of("ok", actor="worker-c", value="1")
    assert empty.rows == 0
    assert [event.seq > empty.seq for event in done.of("transition", operation="recover")] == [True, True]


def test_a_look_names_the_dead_whose_server_process_still_holds_a_lock(database: Database, tmp_path: Path) -> None:
    locked = ("holder begin", "holder amend job=3", "worker-a begin", "worker-a claim", "worker-a amend job=3")
    done = play(database, tmp_path, *locked, "worker-a kill", "- look", "worker-b claim", "holder commit", "- look")
    assert [seen(done, number) for number in (7, 10)] == [
        [(1, "worker-a"), (2, None), (3, "holder")],
        [(1, None), (3, None)],
    ]


def seen(done: Run, number: int) -> list[tuple[int | None, str | None]]:
    """What a look at a step of the script saw: jobs and who locks them."""
    probes: list[Event] = done.of("probe", actor=OBSERVER, round=number)
    return [(event.job, event.blocked_by) for event in probes]


HALVES = "variants/rescue-in-two-steps"


def test_a_recovery_in_halves_is_taken_one_by_one(database: Database, tmp_path: Path) -> None:
    late = ("recoverer recover-read", "worker-a complete", "recoverer recover-write claim_of=worker-a")
    steps = ("worker-a claim", "- advance claim_of=worker-a ms=1", *late)
    done = play(database, tmp_path, *steps, design=HALVES)
    assert [event.job for event in done.of("read", operation="recover-read")] == [1]
    assert [event.rows for event in done.of("ok", operation="recover-write", value="1")] == [0]
    assert transitions(done, from_state="claimed") == [(1, "claimed", "done")]


def test_a_recovery_in_halves_inside_a_transaction_reads_and_writes(database: Database, tmp_path: Path) -> None:
    steps = (*CLAIMED_AND_KILLED, "recoverer begin", "recoverer recover", "recoverer commit")
    done = play(database, tmp_path, *steps, design=HALVES)
    assert transitions(done, actor="recoverer") == [(1, "claimed", "ready")]
    assert len(done.of("ok", actor="recoverer", value="BEGIN")) == 1
