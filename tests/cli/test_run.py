"""`simrunner run` and `replay` with real processes on a real server."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from pathlib import Path

import pytest

from simrunner.config import load_design
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.process import start_time
from simrunner.store.folder import RunFolder
from simrunner.store.journal import JOURNAL, Journal
from simrunner.store.reader import read_history
from tests.cli.conftest import RealRun
from tests.cli.invoking import begun, command, ended_alone, program

pytestmark = pytest.mark.server


def test_the_reference_passes(smoke: RealRun) -> None:
    assert (smoke.ended.code, smoke.ended.err) == (0, "")
    for fact in ("design    reference", "seed      1", "mode      stepped", "server    PostgreSQL 18", "verdict   valid"):
        assert fact in smoke.ended.out
    folder = smoke.folder.relative_to(smoke.home)
    assert f"folder    {folder}" in smoke.ended.out
    assert smoke.ended.out.splitlines()[-1] == f"replay    simrunner replay {folder}"


def test_process_ids_are_told_when_actors_start(smoke: RealRun) -> None:
    first, second = (line for line in smoke.ended.out.splitlines() if line.startswith("started"))
    assert re.fullmatch(r"started   worker-a pid \d+, worker-b pid \d+, recoverer pid \d+, ghost pid \d+", first)
    assert re.fullmatch(r"started   worker-[ab] pid \d+", second)


def test_a_pipe_gets_no_colours_and_no_progress(smoke: RealRun) -> None:
    assert "\x1b" not in smoke.ended.out
    assert "rounds at most" not in smoke.ended.out


def test_the_folder_says_what_determined_the_run(smoke: RealRun) -> None:
    run = RunFolder.open(smoke.folder).run()
    assert (run["status"], run["deterministic"], run["postgres"]["major"]) == ("complete", True, 18)
    assert run["terms"]["must_exercise"] == ["claim-durable", "lease-honoured", "no-job-lost"]
    assert run["terms"]["faults"] == [["kill", "after-commit", None, 1]]


def test_analyze_gives_the_same_verdict_without_a_server(smoke: RealRun) -> None:
    verdict = smoke.folder / "verdict.json"
    before = verdict.read_bytes()
    verdict.unlink()
    again = program("analyze", "results/latest", cwd=smoke.home)
    assert (again.code, verdict.read_bytes()) == (0, before)
    assert again.out.splitlines() == smoke.ended.out.splitlines()[-len(again.out.splitlines()) :]


def test_a_replay_has_the_same_history(smoke: RealRun, tmp_path: Path) -> None:
    replayed = program("replay", smoke.folder, "--json", cwd=tmp_path)
    assert replayed.code == 0, replayed.err
    document, original = replayed.json(), json.loads((smoke.folder / "verdict.json").read_text())
    assert (document["equal"], document["replay_of"]) == (True, str(smoke.folder))
    assert document["history_sha256"] == original["history_sha256"]
    assert Path(document["folder"]).is_relative_to(tmp_path)
    assert "The history equals" in replayed.err


def test_a_replay_that_differs_names_the_first_event(smoke: RealRun, tmp_path: Path) -> None:
    """The original's history is rewritten as if event 50 had happened a millisecond later."""
    folder = tmp_path / "original"
    (folder / "events").mkdir(parents=True)
    for name in ("run.json", "tape.json"):
        (folder / name).write_bytes((smoke.folder / name).read_bytes())
    events = read_history(RunFolder.open(smoke.folder)).events
    changed = events[49]._replace(virtual_time=(events[49].virtual_time or 0) + 1000)
    journal = Journal(folder / JOURNAL)
    journal.append([*events[:49], changed, *events[50:]])
    journal.close()
    ended = program("replay", folder, cwd=tmp_path)
    assert ended.code == 3
    assert ended.err.startswith("Error: the replay's history differs from event 50 on: virtual_time was")
    assert "verdict   valid" in ended.out


def test_the_same_seed_on_a_server_behind_a_dsn(smoke: RealRun, cluster: Cluster, tmp_path: Path) -> None:
    again = program("run", "smoke", "--json", "--dsn", cluster.conninfo("postgres"), cwd=tmp_path)
    assert again.code == 0, again.err
    assert again.json()["history_sha256"] == json.loads((smoke.folder / "verdict.json").read_text())["history_sha256"]


def test_another_server_than_the_tape_says(smoke: RealRun, cluster: Cluster, tmp_path: Path) -> None:
    tape = json.loads((smoke.folder / "tape.json").read_text())
    copy = tmp_path / "copy"
    shutil.copytree(smoke.folder, copy)
    (copy / "tape.json").write_text(json.dumps({**tape, "postgres_major": 16}))
    ended = program("replay", copy, "--dsn", cluster.conninfo("postgres"), cwd=tmp_path)
    assert (ended.code, "made on PostgreSQL 16, but --dsn is PostgreSQL 18" in ended.err) == (2, True)
    assert not (tmp_path / "results").exists()


def test_a_mutant_is_convicted(tmp_path: Path) -> None:
    ended = program("run", "smoke", "--design", "mutants/no-recovery", cwd=tmp_path)
    assert ended.code == 1, ended.err
    document = json.loads((tmp_path / "results/latest/verdict.json").read_text())
    assert document["root_cause"] == load_design("mutants/no-recovery").expects_root_cause
    assert f"Root cause: {document['root_cause']}" in ended.out
    assert ended.out.splitlines()[-1].endswith(document["replay"])


def test_rounds_are_judged_but_not_replayed(tmp_path: Path) -> None:
    ended = program("run", "smoke", "--mode", "rounds", "--set", "liveness.rounds=30", "--json", cwd=tmp_path)
    assert ended.code in (0, 3), ended.err
    assert ended.json()["replay"] == ("simrunner run smoke --design reference --seed 1 --mode rounds --set liveness.rounds=30")
    assert program("replay", "results/latest", cwd=tmp_path).code == 2


def test_sql_that_the_server_refuses(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/design.toml").write_text('extends = "reference"\ntitle = "Mine"\n')
    (tmp_path / "mine/claim.sql").write_text("SELECT\n    nothing FROM nowhere;\n")
    ended = program("run", "smoke", "--design", "mine", cwd=tmp_path)
    assert ended.code == 2
    assert ended.err.startswith("Error: mine/claim.sql:2: PostgreSQL refuses the statement")
    assert len(ended.err.splitlines()) == 1


def test_a_server_that_is_not_there_shows_no_password(tmp_path: Path) -> None:
    ended = program("run", "smoke", "--dsn", "host=/nowhere password=geheim", cwd=tmp_path)
    assert (ended.code, "check --dsn" in ended.err, "geheim" in ended.err) == (4, True, False)
    assert not (tmp_path / "results").exists()


class Running:
    """A slow run that is going on, after its actors were started."""

    def __init__(self, home: Path, workload: str = "smoke", pace: str = "0.2") -> None:
        self.home = home
        self.process = begun(command("run", workload, "--pace", pace), home)
        assert self.process.stdout is not None
        line = next(line for line in self.process.stdout if line.startswith("started"))
        self.pids = {actor: int(pid) for actor, pid in re.findall(r"([\w-]+) pid (\d+)", line)}
        self.born = {pid: start_time(pid) for pid in self.pids.values()}

    @property
    def folder(self) -> Path:
        return self.home / "results/latest"

    def wait_for_decisions(self, count: int) -> None:
        """Return when so many decisions are in the journal."""
        journal = self.folder / "events/journal"
        while journal.read_bytes().count(b'\n{"d":') < count:
            assert self.process.poll() is None

    def alive(self) -> list[int]:
        return [pid for pid, born in self.born.items() if start_time(pid) == born]

    def end(self) -> tuple[str, str]:
        told = ended_alone(self.process)
        return told.out, told.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run(number: signal.Signals, tmp_path: Path) -> None:
    run = Running(tmp_path)
    run.wait_for_decisions(4)
    run.process.send_signal(number)
    while run.alive():  # they are gone long before the command has sealed its folder
        assert run.process.poll() is None
    _, err = run.end()
    folder = run.folder.resolve().relative_to(tmp_path)
    assert run.process.returncode == 3
    assert err.splitlines() == [
        f"Error: the run was ended early by {number.name}",
        f"What happened until then is kept in {folder}",
        f"simrunner analyze {folder}",
        f"simrunner replay {folder}",
    ]
    assert RunFolder.open(run.folder).status() == "interrupted"
    assert not (run.folder / "events/journal").exists()


def test_the_replay_of_an_interrupted_run_follows_it_to_its_end(tmp_path: Path) -> None:
    run = Running(tmp_path)
    run.wait_for_decisions(4)
    run.process.terminate()
    run.end()
    decisions = len(json.loads((run.folder / "tape.json").read_text())["decisions"])
    ended = program("replay", run.folder, cwd=tmp_path)
    assert ended.code == 3
    assert ended.err.startswith(f"Error: followed all {decisions} decisions of the interrupted run: its history is equal")


def test_a_killed_coordinator_leaves_a_run_that_can_be_judged(tmp_path: Path) -> None:
    run = Running(tmp_path)
    run.wait_for_decisions(4)
    run.process.kill()
    run.end()
    assert RunFolder.open(run.folder).status() == "interrupted"
    ended = program("analyze", run.folder.resolve(), cwd=tmp_path)
    assert (ended.code, "status    interrupted" in ended.out) == (3, True)
    assert program("replay", run.folder, cwd=tmp_path).err.startswith("Error: followed all")


def test_a_worker_is_killed_from_outside(tmp_path: Path) -> None:
    run = Running(tmp_path, pace="0.3")
    run.wait_for_decisions(2)
    unknown = program("kill", "worker-c", cwd=tmp_path)
    assert (unknown.code, "did you mean 'worker-" in unknown.err) == (2, True)
    killed = program("kill", "worker-a", cwd=tmp_path)
    assert (killed.code, killed.err) == (0, "")
    assert f"killed worker-a, process {run.pids['worker-a']}" in killed.out
    out, err = run.end()
    assert (run.process.returncode, err) == (0, "")
    assert re.search(r"started +worker-a pid \d+", out)
    tape = json.loads((run.folder / "tape.json").read_text())
    assert ["kill", "worker-a", "unplanned-crash", None, None] in tape["decisions"]


def test_the_bystanders_of_a_run_are_not_killed(tmp_path: Path) -> None:
    """A process id in live.json that now belongs to another process is left alone."""
    run = Running(tmp_path, "short-lease", "2")
    run.wait_for_decisions(2)
    live = json.loads((run.folder / "live.json").read_text())
    live["actors"]["worker-a"] = {"pid": os.getpid(), "started": start_time(os.getpid())}
    live["actors"]["worker-b"]["started"] += 1
    (run.folder / "live.json").write_text(json.dumps(live))
    for actor in ("worker-a", "worker-b"):
        ended = program("kill", actor, cwd=tmp_path)
        assert (ended.code, "is dead already" in ended.err) == (2, True)
    assert run.process.poll() is None
    run.process.terminate()
    run.end()
