"""Whatever ends a run early: no process and no session stays, and the folder says what happened."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from time import monotonic

import pytest
from psycopg.pq.abc import PGconn

from simrunner.analysis.judge import judge
from simrunner.errors import Divergence, Interrupted, RecordingFailed, ServerError, StepStuck
from simrunner.history.history import History
from simrunner.limits import LIMITS
from simrunner.model.tape import STEP, UNPLANNED, WAKE, Decision
from simrunner.model.verdict import Verdict
from simrunner.runtime import libpq, waiting
from simrunner.runtime.coordinator import Request, execute
from simrunner.runtime.database import Database
from simrunner.runtime.truth import CommittedTransaction, TruthReader
from simrunner.store.folder import FAILED, INTERRUPTED, RunFolder
from simrunner.store.journal import JOURNAL
from simrunner.store.reader import load
from tests.runtime.outside import IN_TRANSACTION, Outside, is_there
from tests.runtime.runs import backends, design_folder, new_folder, pacing, request, run, script_file


class Failure(Exception):
    """Something unforeseen in the watcher."""


def ended(
    database: Database, tmp_path: Path, wanted: Request, error: type[BaseException], at: Callable[[Outside], bool]
) -> RunFolder:
    """Run until `at` raises; nothing may stay but the folder."""
    outside = Outside(database, at)
    with new_folder(tmp_path, wanted) as folder:
        with pytest.raises(error):
            execute(wanted, folder, database, outside.watcher())
        assert outside.seen
        assert [pid for pid in outside.seen if is_there(pid)] == []
        assert [name for name in backends(database) if "worker" in name] == []
        assert has_left("observer", outside)
        outside.close()
    return RunFolder.open(folder.path)


def has_left(actor: str, outside: Outside) -> bool:
    """Whether an actor's session ends. A run waits for those that hold locks; the observer's it only closes, and its backend
    leaves when it next gets a processor."""
    deadline = monotonic() + LIMITS.backend_gone_seconds
    while (is_left := outside.backend(actor) is not None) and monotonic() < deadline:
        continue
    return not is_left


def raising(error: BaseException, condition: str = IN_TRANSACTION) -> Callable[[Outside], bool]:
    def at(outside: Outside) -> bool:
        if outside.backend("worker-a", condition) is not None:
            raise error
        return False

    return at


@pytest.mark.parametrize("mode", ["stepped", "rounds"])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), Interrupted("stopped")])
def test_an_interruption(database: Database, tmp_path: Path, error: BaseException, mode: str) -> None:
    condition = IN_TRANSACTION if mode == "stepped" else "true"
    folder = ended(database, tmp_path, request("smoke", mode=mode), type(error), raising(error, condition))
    assert folder.status() == INTERRUPTED
    loaded = load(folder)
    assert loaded.context.completed is False
    assert not [event for event in loaded.events if (event.kind, event.value) == ("run", "end")]


def test_an_unforeseen_error(database: Database, tmp_path: Path) -> None:
    folder = ended(database, tmp_path, request("smoke"), Failure, raising(Failure("no idea")))
    assert folder.status() == FAILED
    assert folder.run()["error"] == "Failure: no idea"
    assert load(folder).events


def test_a_run_after_an_interrupted_one_in_the_same_database(database: Database, tmp_path: Path) -> None:
    ended(database, tmp_path, request("smoke"), KeyboardInterrupt, raising(KeyboardInterrupt()))
    assert run(database, tmp_path, request("smoke", reuse=True)).verdict().root_cause is None


@pytest.mark.parametrize("reads", range(1, 13, 2))
def test_a_commit_whose_changes_were_not_read_is_no_broken_promise(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reads: int
) -> None:
    """The run is interrupted between the two, in the middle of a step: it is recorded whole or not at all."""
    read, counted = TruthReader.read, count(1)

    def interrupted(reader: TruthReader) -> list[CommittedTransaction]:
        if next(counted) == reads:
            raise Interrupted("stopped")
        return read(reader)

    monkeypatch.setattr(TruthReader, "read", interrupted)
    wanted = request("smoke")
    with new_folder(tmp_path, wanted) as folder:
        with pytest.raises(Interrupted):
            execute(wanted, folder, database, pacing(lambda: None))
        loaded = load(folder)
    assert loaded.events[-1].kind == "sent"
    verdict = judge(History(*loaded), wanted.workload.judges, (), ())
    assert (verdict.verdict, verdict.root_cause) == (Verdict.UNKNOWN, None)


@contextmanager
def locked_from_outside(database: Database) -> Iterator[list[PGconn]]:
    """A session of nobody's that locks job 1 once it is asked to."""
    sessions: list[PGconn] = []
    try:
        yield sessions
    finally:
        for session in sessions:
            session.finish()


def lock_job(database: Database, sessions: list[PGconn]) -> Callable[[Outside], bool]:
    def at(outside: Outside) -> bool:
        sessions.append(libpq.connect(database.conninfo("stranger")))
        libpq.expect(libpq.run(sessions[0], "BEGIN; SELECT FROM queue_jobs WHERE id = 1 FOR UPDATE"), "locking")
        return True

    return at


def test_a_lock_held_from_outside_the_run(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody of the run will release it: it is no wait that the run could account for."""
    monkeypatch.setattr(waiting, "LIMITS", replace(LIMITS, step_seconds=1.0))
    wanted = request(script_file(tmp_path, "worker-a claim", "worker-a amend job=1"))
    with locked_from_outside(database) as sessions:
        folder = ended(database, tmp_path, wanted, StepStuck, lock_job(database, sessions))
    assert folder.status() == FAILED
    assert "worker-a neither finished amend:1 nor is blocked by another actor" in folder.run()["error"]
    assert load(folder).events[-1].kind == "sent"


def test_a_tape_that_does_not_fit_leaves_nothing_stopped(database: Database, tmp_path: Path) -> None:
    """The waiters are stopped when the wrong WAKE is met: their backends could not end."""
    steps = ("worker-a begin", "worker-a amend job=1", "worker-a amend job=2", "worker-b amend job=1", "worker-c amend job=2")
    workload = script_file(tmp_path, *steps, "worker-a commit")
    tape = run(database, tmp_path, request(workload)).decisions()
    wrong = [decision._replace(actor="worker-a") if decision.kind == WAKE else decision for decision in tape]
    assert wrong != tape
    wanted = request(workload, decisions=wrong, reuse=True)
    folder = ended(database, tmp_path, wanted, Divergence, lambda _: False)
    assert folder.status() == FAILED
    assert "a choice among the waiters worker-b, worker-c is due" in folder.run()["error"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda tape: [*tape[:5], Decision(STEP, "worker-b", "claim:1"), *tape[6:]], "worker-b is parked at"),
        (lambda tape: [*tape[:5], Decision(STEP, "worker-z", "round"), *tape[6:]], "worker-z is not there"),
        (lambda tape: [*tape[:5], Decision("round", amount=2), *tape[6:]], "a step is due"),
        (lambda tape: [*tape[:5], Decision("kill", "worker-a", "after-commit"), *tape[6:]], "worker-a is parked at"),
        (lambda tape: [Decision("advance", amount=5), *tape], "round 1 is due"),
        (lambda tape: tape[:5], "the tape ends after 5 decisions"),
        (lambda tape: [Decision("kill", "worker-a", UNPLANNED), *tape], "worker-a is dead"),
    ],
)
def test_a_tape_of_something_else(
    database: Database, tmp_path: Path, change: Callable[[list[Decision]], list[Decision]], words: str
) -> None:
    tape = run(database, tmp_path, request("smoke")).decisions()
    wanted = request("smoke", decisions=change(tape), reuse=True)
    with new_folder(tmp_path, wanted) as folder, pytest.raises(Divergence, match=words):
        execute(wanted, folder, database, pacing(lambda: None))


def test_a_folder_that_was_removed(database: Database, tmp_path: Path) -> None:
    wanted = request("smoke")
    with new_folder(tmp_path, wanted) as folder:
        journal = folder.path / JOURNAL

        def pace() -> None:
            journal.unlink(missing_ok=True)

        with pytest.raises(RecordingFailed, match="it does not exist or was removed during the run"):
            execute(wanted, folder, database, pacing(pace))
    assert [name for name in backends(database) if "worker" in name] == []


def test_a_statement_that_ends_its_own_session(database: Database, tmp_path: Path) -> None:
    """The actor goes on with another session; nobody decided it, so a replay may differ."""
    recover = "SELECT pg_terminate_backend(pg_backend_pid()), NULL::bigint AS id, NULL::integer AS attempts, :lease_ms AS l"
    design = design_folder(tmp_path, {"recover": recover})
    done = run(database, tmp_path, request("smoke", design, settings={"liveness.rounds": "1"}))
    losses = done.of("fault", actor="recoverer", value="unplanned-session-end")
    assert losses
    for kind in ("unknown", "backend-gone", "session-start"):
        assert len(done.of(kind, actor="recoverer")) == len(losses), kind
    assert {event.incarnation for event in done.of("process-start", actor="recoverer")} == {1}
    assert done.folder.run()["deterministic"] is False


def test_no_server(tmp_path: Path, database: Database) -> None:
    gone = Database(replace(database.cluster, parameters={"host": str(tmp_path), "port": "1"}), database.home, "design")
    wanted = request("smoke")
    with new_folder(tmp_path, wanted) as folder, pytest.raises(ServerError, match="PostgreSQL cannot be reached"):
        execute(wanted, folder, gone, pacing(lambda: None))
    assert folder.status() == FAILED


def test_a_run_ends_when_the_backends_have_gone(database: Database, tmp_path: Path) -> None:
    """Until then they hold the locks of their sessions. worker-b's is stopped, so that it cannot leave until it is continued."""
    stopped: list[int] = []
    returned = threading.Event()

    def at(outside: Outside) -> bool:
        if outside.backend("worker-a", IN_TRANSACTION) is None:
            return False
        stopped.append(outside.backend("worker-b") or 0)
        os.kill(stopped[0], signal.SIGSTOP)
        threading.Thread(target=go_on, args=(outside.pids["worker-b"],)).start()
        return True

    def go_on(client: int) -> None:
        while is_there(client):
            pass
        returned.wait(1)  # what a run that does not wait for it needs to return is much less
        os.kill(stopped[0], signal.SIGCONT)

    outside = Outside(database, at)
    wanted = request(script_file(tmp_path, "worker-b amend job=1", "worker-a amend job=2"))
    with new_folder(tmp_path, wanted) as folder:
        execute(wanted, folder, database, outside.watcher())
        gone = not is_there(stopped[0])
        returned.set()
    outside.close()
    assert gone
