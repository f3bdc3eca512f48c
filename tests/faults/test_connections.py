"""Workers with a connection for their locks beside the one on which they work: each is lost for itself, and a kill ends both."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from simrunner.errors import InputError, StepStuck, WorkloadError
from simrunner.faults.registry import FAULTS
from simrunner.model.event import Event
from simrunner.model.tape import TERMINATE_BACKEND
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.database import Database
from simrunner.runtime.stage import Stage
from simrunner.search.campaign import Campaign, request_of
from simrunner.search.coordinator import Theatre
from simrunner.search.explorer import Played, play
from simrunner.search.export.script_of import script_of
from simrunner.search.play import begin_part
from simrunner.search.play import play as play_alone
from simrunner.search.request import prepare
from simrunner.search.shrinking.shrink import shrink
from simrunner.search.shrinking.trials import Trials
from simrunner.search.shrinking.tried import Tried
from simrunner.search.sources import Seeded, swarm
from simrunner.store.folder import RunFolder
from tests.faults.repeats import histories, repeated, root_causes, struck
from tests.runtime.outside import Outside, is_there, kill_for_good
from tests.runtime.runs import QUIET, STARTED, backends, nobody, request, run, script_file, workload_file

WORKLOAD, TRUSTING, FENCED = "lost-lock-connection", "mutants/trusts-lock-connection", "variants/lock-connection"
LOCKS = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted"


def left_behind(database: Database) -> list[str]:
    """Sessions of actors that are still there. Those of who looked, from outside and for the run, may be about to leave."""
    return [name for name in backends(database) if name not in ("simrunner:outside", "simrunner:observer")]


def test_ten_runs_are_one_history_and_a_token_fences(database: Database) -> None:
    runs = repeated(database, WORKLOAD, FENCED)
    assert len(histories(runs)) == 1
    assert root_causes(runs) == {None}
    assert [kind for kind, _ in struck(runs[0])].count(TERMINATE_BACKEND) == 3


@pytest.mark.parametrize("seed", [1, 2])
def test_a_lock_that_was_lost_beside_the_work_protects_nothing(database: Database, seed: int) -> None:
    runs = repeated(database, WORKLOAD, TRUSTING, times=2, seed=seed)
    assert len(histories(runs)) == 1
    assert root_causes(runs) == {"fenced-writes"}


def test_as_long_as_the_lock_connection_lives_the_lock_protects(database: Database) -> None:
    assert root_causes(repeated(database, WORKLOAD, TRUSTING, times=1, settings={"faults.0.round": "16"})) == {None}


def test_the_loss_of_the_other_connection_costs_no_lock(database: Database, tmp_path: Path) -> None:
    """The same course, but that worker-a loses the connection on which it works."""
    lost = '[[faults]]\nkind = "terminate-backend"\n'
    path = workload_file(
        tmp_path,
        WORKLOAD,
        [(f'{lost}connection = "lock"\ncrash_point = "after-commit"\n', f'{lost}crash_point = "after-commit"\n')],
    )
    runs = repeated(database, str(path), TRUSTING, times=1)
    assert root_causes(runs) == {None}
    assert (TERMINATE_BACKEND, "worker-a") in struck(runs[0])


def test_one_backend_and_its_lock_are_gone_and_the_other_and_the_process_live(database: Database, tmp_path: Path) -> None:
    """Seen from pg_stat_activity and pg_locks, at each decision until worker-a has another lock connection."""
    seen: list[tuple[int, int | None, int | None, tuple[str, ...]]] = []

    def at(outside: Outside) -> bool:
        working, locking = outside.backend("worker-a"), outside.backend("worker-a/lock")
        names = {working: "first", locking: "lock"}
        seen.append(
            (
                outside.pids.get("worker-a", 0),
                working,
                locking,
                tuple(names.get(pid, "?") for pid in outside.ask(LOCKS) if pid in names),
            )
        )
        return False

    outside = Outside(database, at)
    try:
        done = run(database, tmp_path, request(WORKLOAD, TRUSTING), outside.watcher())
    finally:
        outside.close()
    (fault,) = done.of("fault", value=TERMINATE_BACKEND, actor="worker-a")
    (gone,) = done.of("backend-gone", session=fault.session)
    (before, after) = done.of("session-start", actor="worker-a", value="lock")
    assert (before.session, gone.backend_pid) == (fault.session, fault.backend_pid)
    begun = next(place for place, sight in enumerate(seen) if sight[2] == before.backend_pid)
    sights = list(dict.fromkeys(seen[begun:]))
    assert len({(pid, working) for pid, working, _, _ in sights[:4]}) == 1
    assert {pid for pid, *_ in sights} == {fault.os_pid}
    assert [(locking, held) for _, _, locking, held in sights[:4]] == [
        (before.backend_pid, ()),
        (before.backend_pid, ("lock",)),
        (None, ()),
        (after.backend_pid, ()),
    ]
    # the work went on meanwhile, on the session with which the process began
    (start,) = done.of("process-start", actor="worker-a")
    between = [
        event for event in done.events[fault.seq : after.seq] if event.actor == "worker-a" and event.operation == "complete"
    ]
    assert {event.session for event in between} == {start.session}
    assert left_behind(database) == []


KILLED = """
[[faults]]
kind = "kill"
crash_point = "{point}"
actor = "worker-a"
round = 1
"""


def with_faults(tmp_path: Path, faults: str) -> str:
    """The workload with other faults."""
    path = workload_file(tmp_path, WORKLOAD)
    text = path.read_text()
    path.write_text(text[: text.index("# worker-a has")] + faults + text[text.index("[policy]") :])
    return str(path)


@pytest.mark.parametrize("point", ["after-claim-before-commit", "after-commit"])
def test_a_kill_ends_when_both_backends_have_gone(database: Database, tmp_path: Path, point: str) -> None:
    """At the first crash point the transaction is open on the lock connection, at the second none is."""
    sessions: dict[int, set[int]] = {}
    left: list[set[int]] = []

    def at(outside: Outside) -> bool:
        pid = outside.pids.get("worker-a", 0)
        sessions.setdefault(pid, set()).update(
            outside.ask("SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'simrunner:worker-a%'")
        )
        alive = set(outside.ask("SELECT pid FROM pg_stat_activity"))
        left.extend(pids & alive for process, pids in sessions.items() if process and not is_there(process))
        return False

    outside = Outside(database, at)
    try:
        done = run(database, tmp_path, request(with_faults(tmp_path, KILLED.format(point=point)), FENCED), outside.watcher())
    finally:
        outside.close()
    (kill,) = done.of("fault", value="kill")
    gone = [event for event in done.of("backend-gone") if event.step == kill.step]
    assert {event.backend_pid for event in gone} == sessions[kill.os_pid or 0]
    assert len(gone) == 2
    assert left
    assert not any(left)
    assert done.verdict().root_cause is None
    assert left_behind(database) == []


WAITING = "SELECT id, payload FROM queue_jobs WHERE state = 'ready' ORDER BY id LIMIT :batch FOR UPDATE"


def waiting_design(tmp_path: Path, **files: str) -> str:
    """The fenced design with other operations."""
    folder = tmp_path / "changed"
    folder.mkdir()
    (folder / "design.toml").write_text(f'extends = "{FENCED}"\n')
    for name, text in files.items():
        (folder / f"{name}.sql").write_text(text)
    return str(folder)


def test_a_backend_that_waits_stays_as_an_orphan_and_the_other_leaves(database: Database, tmp_path: Path) -> None:
    """Whoever blocks it is named, though he stands on one of two connections."""
    claim = request("smoke", FENCED).design.operations["claim"].text.replace("SKIP LOCKED", "")
    faults = KILLED.format(point="after-claim-before-commit").replace('"kill"', '"pause"') + "rounds = 3\n"
    struck_at: list[int] = []

    def at(outside: Outside) -> bool:
        blocked = outside.backend("worker-b/lock", "wait_event_type = 'Lock'")
        if blocked is None or outside.phase != "safety":
            return False
        struck_at.append(blocked)
        kill_for_good(outside.pids["worker-b"])
        return True

    outside = Outside(database, at)
    try:
        wanted = request(with_faults(tmp_path, faults), waiting_design(tmp_path, claim=claim), strategy="round-robin")
        done = run(database, tmp_path, wanted, outside.watcher())
    finally:
        outside.close()
    assert done.of("blocked", actor="worker-b")[0].blocked_by == "worker-a"
    dead = done.of("process-end", actor="worker-b")[0]
    first, orphan = [event for event in done.of("backend-gone", actor="worker-b") if event.incarnation == dead.incarnation]
    end = done.of("fault", value="end of pause")[0]
    assert (first.step, orphan.backend_pid) == (dead.step, struck_at[0])
    assert first.seq < end.seq < orphan.seq
    assert left_behind(database) == []


def test_a_worker_that_waits_for_itself_is_told_at_once(database: Database, tmp_path: Path) -> None:
    done = "UPDATE queue_jobs SET state = 'done' WHERE id = :'job_id' RETURNING id;"
    complete = f"SELECT pg_advisory_xact_lock(:'job_id'::bigint);\n{done}"
    with pytest.raises(StepStuck, match=r"nobody can go on: .*worker-a.* wait for locks that no actor"):
        run(database, tmp_path, request(with_faults(tmp_path, ""), waiting_design(tmp_path, complete=complete)))
    assert left_behind(database) == []


def test_a_script_holds_a_transaction_on_each_connection(database: Database, tmp_path: Path) -> None:
    """What runs on the lock connection is no part of the transaction that the script holds open on the first."""
    steps = ["worker-a begin", "worker-a amend job=1", "worker-a claim", "worker-b amend job=1", "worker-a commit"]
    done = run(database, tmp_path, request(script_file(tmp_path, *steps), FENCED))
    (claim,) = done.of("read", operation="claim")
    (amend,) = done.of("ok", actor="worker-a", operation="amend", value="1")
    assert claim.session != amend.session
    assert done.of("blocked", actor="worker-b")[0].blocked_by == "worker-a"
    assert [event.job for event in done.of("transition", operation="claim")] == [claim.job]
    assert claim.job != amend.job


def test_where_claims_race_both_backends_of_a_killed_worker_go(database: Database, tmp_path: Path) -> None:
    done = run(database, tmp_path, request("smoke", FENCED, mode="rounds"))
    (kill,) = done.of("fault", value="kill")
    assert len({event.session for event in done.of("backend-gone") if event.step == kill.step}) == 2
    assert done.verdict().root_cause is None
    assert left_behind(database) == []


def locks_of(events: Sequence[Event]) -> set[int | None]:
    """The sessions on lock connections."""
    return {event.session for event in events if event.kind == "session-start" and event.value == "lock"}


def test_every_kind_of_fault_repeats_and_either_connection_is_struck(database: Database) -> None:
    base = request_of(Campaign("smoke", FENCED, {"safety.rounds": "4", "jobs": "8"}))
    source = Seeded(base, 1, tuple(FAULTS))
    with closing(Theatre(database, base, 1)) as theatre:
        runs: list[tuple[Played, ...]] = []
        for number in range(16):
            one = theatre.play(source.request(number), number)
            by_tape = replace(source.request(number), decisions=one.memory.decisions)
            runs.append((one, theatre.play(source.request(number), number), theatre.play(by_tape, number)))
    assert [one.result.error for same in runs for one in same] == [None] * 48
    assert [len({one.result.sha256 for one in same}) for same in runs] == [1] * 16
    struck_on = {
        event.session in locks_of(one.memory.events)
        for one, *_ in runs
        for event in one.memory.events
        if event.value == TERMINATE_BACKEND
    }
    assert struck_on == {True, False}


OVERTAKEN = """
[[faults]]
kind = "terminate-backend"
actor = "worker-b"
crash_point = "before-claim"
round = 2
[[faults]]
kind = "terminate-backend"
connection = "lock"
actor = "worker-a"
crash_point = "after-commit"
round = 1
[[faults]]
kind = "pause"
actor = "worker-a"
crash_point = "after-commit"
round = 1
rounds = 3
[[faults]]
kind = "pause"
actor = "worker-b"
crash_point = "after-commit"
round = 1
rounds = 4
"""
"""worker-b claims what worker-a has claimed and lost, and is still at it when worker-a completes."""


def test_what_fails_is_made_small(database: Database, tmp_path: Path) -> None:
    """Of four faults all are left but the one that does not matter."""
    settings = {"fixture.jobs": "1", "safety.rounds": "6"}
    wanted = prepare(with_faults(tmp_path, OVERTAKEN), TRUSTING, settings, seed=1, mode="stepped", strategy="round-robin")
    with closing(Stage(database, wanted.design, wanted.workload, coalesce=True)) as stage:
        failing = play(stage, replace(wanted, coalesce=True), 1)
    assert failing.result.root_cause == "fenced-writes"
    database.recreate()
    wanted = replace(wanted, coalesce=True, decisions=tuple(failing.memory.decisions))
    with closing(Trials(wanted, wanted.workload.path, database)) as trials:
        small = shrink(wanted, trials, tried=Tried(tmp_path, "test"), seconds=60, told=nobody, sha256=failing.result.sha256)
    left = [(one.kind, one.actor, one.detail) for one in small.case.faults]
    assert left == [(TERMINATE_BACKEND, "worker-a", "lock"), ("pause", "worker-a", None), ("pause", "worker-b", None)]


def test_a_campaign_aims_at_one_of_the_connections() -> None:
    """Where there is one, nothing is drawn: such a campaign is what it was before."""

    def aimed(*connections: str) -> set[str | None]:
        return {spec.connection for seed in range(100) for spec in swarm(seed, 1, tuple(FAULTS), connections)}

    assert aimed() == {None}
    assert aimed("lock", "beat") == {None, "lock", "beat"}
    spec = [spec for seed in range(100) for spec in swarm(seed, 1, tuple(FAULTS), ("lock",)) if spec.connection is not None]
    assert {one.kind for one in spec} == {TERMINATE_BACKEND}
    for seed in range(100):
        assert swarm(seed, 1, tuple(FAULTS)) == tuple(
            replace(one, connection=None) for one in swarm(seed, 1, tuple(FAULTS), ("lock",))
        )


@pytest.mark.parametrize(
    ("design", "old", "new", "told"),
    [
        (
            "reference",
            "",
            "",
            r"changed.toml:23: faults\[0\].connection: workers of reference have no connection 'lock'; Known: none",
        ),
        (FENCED, '"lock"', '"lok"', r"toml:23: faults\[0\].connection: .* no connection 'lok'; did you mean 'lock'"),
        (FENCED, 'actor = "worker-a"', 'actor = "recoverer"', r"toml:23: .*recoverer is no worker and has one connection"),
        (FENCED, '"terminate-backend"', '"kill"', r"toml:23: faults\[0\].connection: kill takes no connection"),
    ],
)
def test_a_connection_that_is_not_there_is_told_with_its_line(tmp_path: Path, design: str, old: str, new: str, told: str) -> None:
    path = workload_file(tmp_path, WORKLOAD, [(old, new)] if old else [])
    with pytest.raises(WorkloadError, match=told):
        prepare(str(path), design, {}, seed=1, mode="stepped", strategy=None)


def test_a_case_of_several_connections_is_not_exported(cluster: Cluster, tmp_path: Path) -> None:
    wanted = prepare(WORKLOAD, TRUSTING, {}, seed=1, mode="stepped", strategy=None)
    with begin_part(wanted, cluster, tmp_path / "run", STARTED) as folder:
        play_alone(wanted, folder, cluster, QUIET)
    with pytest.raises(InputError, match="several connections, which cannot be exported"):
        script_of(RunFolder.open(tmp_path / "run"))


@pytest.mark.parametrize("lines", ['kind = "lose-ack"', 'kind = "lose-commit"', 'kind = "idle-timeout"\nrounds = 2'])
def test_what_strikes_a_statement_strikes_its_connection(database: Database, tmp_path: Path, lines: str) -> None:
    """A claim's COMMIT is lost with the connection on which it is sent; the worker goes on with the other as it was."""
    faults = f'[[faults]]\n{lines}\nat = "claim:COMMIT"\nactor = "worker-a"\nround = 1\n'
    done = run(database, tmp_path, request(with_faults(tmp_path, faults), FENCED, settings={"fixture.jobs": "8"}))
    (fault,) = [event for event in done.of("fault") if not (event.value or "").startswith("end of")]
    (start,) = done.of("process-start", actor="worker-a")
    first, second = done.of("session-start", actor="worker-a", value="lock")
    (gone,) = done.of("backend-gone", actor="worker-a")
    assert fault.session == gone.session == first.session
    later = {event.session for event in done.events[second.seq :] if event.actor == "worker-a" and event.kind == "sent"}
    assert later == {start.session, second.session}
    assert done.verdict().root_cause is None
    assert done.folder.run()["deterministic"] is True
