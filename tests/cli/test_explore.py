"""`simrunner explore` as its users call it: what it finds, what it keeps, and what it leaves when it is ended at any moment."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pandas
import pytest

from simrunner.store.schedules import ScheduleResult, by_part, results_in
from tests.cli.invoking import Ended, begun, command, ended, invoke, program

SMALL = ("--set", "jobs=2", "--set", "safety.rounds=1")
FOUND = ("smoke", "--design", "mutants/no-recovery", "--schedules", "20", *SMALL)


class Explored(NamedTuple):
    """A campaign that has ended."""

    home: Path
    folder: Path
    ended: Ended

    @property
    def results(self) -> list[ScheduleResult]:
        return results_in(self.folder)

    def document(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads((self.folder / "campaign.json").read_text())
        return document


def explore(home: Path, *words: str) -> Explored:
    ended = program("explore", *words, cwd=home)
    return Explored(home, (home / "results/latest").resolve(), ended)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Explored:
    """A campaign that finds something."""
    return explore(tmp_path_factory.mktemp("found"), *FOUND)


def identities(explored: Explored) -> list[tuple[int, str]]:
    return [(result.schedule, result.sha256) for result in explored.results]


def test_it_ends_as_what_it_found(found: Explored) -> None:
    assert found.ended.code == 1, found.ended.err
    assert "violated" in found.ended.out
    assert "no-job-lost" in found.ended.out
    assert "Probability with which a bug would have been found" in found.ended.out
    assert "Steps are coalesced" in found.ended.out
    assert found.ended.err == ""


def test_its_folder_says_what_it_was(found: Explored) -> None:
    run = json.loads((found.folder / "run.json").read_text())
    assert (run["kind"], run["status"], run["campaign"]["strategy"], run["scale"]["actors"]) == ("campaign", "complete", "pct", 4)
    assert found.folder.parent == found.home / "results/explore"
    assert [result.schedule for result in found.results] == list(range(20))
    assert not list(found.folder.glob("events-*"))


def test_its_histories_are_one_table(found: Explored) -> None:
    table = pandas.read_parquet(found.folder / "histories")
    assert table.groupby("schedule").size().to_dict() == {result.schedule: result.events for result in found.results}
    claims = table[(table.kind == "transition") & (table.to_state == "claimed")]
    assert set(claims.schedule) == set(range(20))
    assert set(table.part) == {0}


def test_what_it_keeps_is_a_run_like_any_other(found: Explored) -> None:
    (kept,) = [one for one in found.document()["findings"] if one["root_cause"] == "no-job-lost"]
    place = found.folder / kept["folder"]
    assert f"simrunner replay {place.relative_to(found.home)}" in found.ended.out
    assert kept["explanation"] in found.ended.out
    replayed = program("replay", str(place), "--json", cwd=found.home)
    assert (replayed.code, replayed.json()["equal"], replayed.json()["root_cause"]) == (1, True, "no-job-lost")
    assert replayed.json()["history_sha256"] == found.results[kept["first"]].sha256
    analyzed = invoke("analyze", place, "--json")
    assert (analyzed.exit_code, json.loads(analyzed.stdout)["root_cause"]) == (1, "no-job-lost")


def test_its_report_is_shown_again(found: Explored) -> None:
    again = invoke("analyze", found.folder)
    assert again.exit_code == 1
    assert "Probability with which a bug would have been found" in again.stdout
    assert json.loads(invoke("analyze", found.folder, "--json").stdout)["schedules"] == 20
    assert invoke("explore", "--resume", found.folder).exit_code == 1


def test_two_coordinators_run_the_same_schedules(found: Explored, tmp_path: Path) -> None:
    both = explore(tmp_path, *FOUND, "--jobs", "2")
    assert both.ended.code == 1, both.ended.err
    assert identities(both) == identities(found)
    assert both.document()["findings"][0]["first"] == found.document()["findings"][0]["first"]
    assert len(list((both.folder / "findings").iterdir())) == len(both.document()["findings"])
    assert set(pandas.read_parquet(both.folder / "histories").part) == set(by_part(both.folder)) == {0, 1}


def test_exhaustive_finds_it_and_says_that_it_is_through(tmp_path: Path) -> None:
    words = ("smoke", "--design", "mutants/naive-subquery", "--strategy", "exhaustive", "--kills", "0")
    done = explore(tmp_path, *words, "--set", "jobs=1", "--set", "safety.rounds=1")
    assert done.ended.code == 1, done.ended.err
    assert "single-live-claim" in [one["root_cause"] for one in done.document()["findings"]]
    assert done.document()["is_exhausted"]
    assert "Nothing was pruned" in done.ended.out
    paths = [result.path for result in done.results]
    assert len(set(paths)) == len(paths) > 20


@pytest.mark.parametrize("words", [("--kills", "0"), ("--kills", "1", "--set", "workers=1")])
def test_the_count_beforehand_is_what_is_run(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Where every interleaving gives each worker as many steps."""
    done = explore(tmp_path, "smoke", "--design", "variants/lock-only", "--strategy", "exhaustive", *SMALL, *words)
    document = done.document()
    assert document["expected"] == len(done.results) > 4
    assert (document["is_exhausted"], document["unknown"], document["findings"]) == (True, 0, [])


def test_everything_twice_gives_everything_once(tmp_path: Path) -> None:
    """Of a design without mistakes, also where steps block and actors are killed."""
    done = explore(tmp_path, "short-lease", "--recheck", "--schedules", "200", "--jobs", "2")
    assert done.ended.code == 0, done.ended.err
    assert len(done.results) == 200


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("explore", "Name a workload"),
        ("explore smoke --schedules 0", "--schedules"),
        ("explore smoke --seconds 0", "--seconds"),
        ("explore smoke --steps 0", "--steps"),
        ("explore smoke --depth 0", "--depth"),
        ("explore smoke --kills 9", "--kills"),
        ("explore smoke --jobs 0", "--jobs"),
        ("explore smoke --strategy luck", "--strategy"),
        ("explore smoke --strategy exhaustive --jobs 2", "leave --jobs at 1"),
        ("explore smoke --dsn postgresql:// --jobs 2", "--jobs needs a server"),
        ("explore smoke --dsn postgresql:// --faults server-crash", "needs a server of simrunner's own"),
        ("explore smoke --dsn postgresql:// --postgres 16", "--postgres chooses the embedded server"),
        ("explore claim-boundary", "is a script"),
        ("explore nothing", "no workload 'nothing'"),
        ("explore smoke --design nothing", "no design 'nothing'"),
        ("explore smoke --set jobs", "expected KEY=VALUE"),
        ("explore --resume nowhere", "there is no such run folder"),
        ("explore smoke --resume .", "is not a run folder"),
    ],
)
def test_mistakes(words: str, says: str) -> None:
    result = invoke(*words.split())
    assert (result.exit_code, says in result.output) == (2, True), result.output


def truncate(path: Path) -> Path:
    path.write_bytes(path.read_bytes()[:-100])
    return path


def flip(path: Path) -> Path:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    return path


def remove(path: Path) -> Path:
    path.unlink()
    return path


def add(path: Path) -> Path:
    return Path(shutil.copy(path, path.with_name("7-00000.parquet")))


def add_part(path: Path) -> Path:
    return Path(shutil.copy(path, path.with_name("schedules-7.jsonl")))


def change_a_digit(path: Path) -> Path:
    path.write_bytes(re.sub(rb'"steps":\d', b'"steps":9', path.read_bytes(), count=1))
    return path


@pytest.mark.parametrize(
    ("kind", "damage", "words"),
    [
        ("histories/*/*.parquet", truncate, "is damaged: it is not the file that simrunner wrote"),
        ("histories/*/*.parquet", flip, "is damaged: it is not the file that simrunner wrote"),
        ("histories/*/*.parquet", remove, "cannot be read (No such file or directory)"),
        ("histories/*/*.parquet", add, "was not written by the campaign: remove it"),
        ("schedules-*.jsonl", change_a_digit, "is damaged: it is not the file that simrunner wrote"),
        ("schedules-*.jsonl", truncate, "is damaged: it is not the file that simrunner wrote"),
        ("schedules-*.jsonl", remove, "cannot be read (No such file or directory)"),
        ("schedules-*.jsonl", add_part, "was not written by the campaign: remove it"),
    ],
)
def test_damage_to_its_sealed_files_is_told_with_the_file(
    found: Explored, tmp_path: Path, kind: str, damage: Callable[[Path], Path], words: str
) -> None:
    folder = shutil.copytree(found.folder, tmp_path / "copy")
    assert invoke("analyze", folder).exit_code == 1
    hurt = damage(next(folder.glob(kind)))
    for command_line in (("analyze", folder), ("explore", "--resume", folder)):
        told = invoke(*command_line)
        assert told.exit_code == 2
        assert f"{hurt}: {words}" in told.stderr


def test_without_its_seal_nothing_of_a_campaign_can_be_compared(found: Explored, tmp_path: Path) -> None:
    folder = shutil.copytree(found.folder, tmp_path / "copy")
    (folder / "seal.json").unlink()
    told = invoke("analyze", folder)
    assert (told.exit_code, "seal.json is gone" in told.stderr) == (2, True)


def test_other_arguments_than_the_campaigns(found: Explored) -> None:
    other = invoke("explore", "smoke", "--resume", found.folder, "--seed", "2", "--design", "reference")
    assert other.exit_code == 2
    assert "--resume: the campaign was begun with other arguments" in other.output
    assert "seed 2 (it has 1)" in other.output
    assert "design reference (it has mutants/no-recovery)" in other.output


def test_a_run_is_no_campaign(found: Explored) -> None:
    (kept, *_) = found.document()["findings"]
    wrong = invoke("explore", "--resume", found.folder / kept["folder"])
    assert (wrong.exit_code, "is no campaign" in wrong.output) == (2, True)


LONG = 100


class Going(NamedTuple):
    """A campaign that is going on, in a process group of its own."""

    process: subprocess.Popen[str]
    home: Path

    def folder(self) -> Path:
        return (self.home / "results/latest").resolve()

    def finished(self) -> int:
        return len(results_in(self.folder())) if (self.home / "results/latest").exists() else 0

    def wait_for(self, schedules: int) -> None:
        while self.finished() < schedules:
            assert self.process.poll() is None, ended(self.process)
            time.sleep(0.02)

    def end(self, number: signal.Signals) -> Ended:
        os.killpg(self.process.pid, number)
        return ended(self.process)


def start(home: Path, *words: str) -> Going:
    return Going(begun(command("explore", *words), home, start_new_session=True), home)


@pytest.fixture
def going(tmp_path: Path) -> Iterator[Going]:
    """A campaign by two coordinators, long enough to be met while it goes on."""
    campaign = start(tmp_path, "smoke", "--schedules", str(LONG), "--jobs", "2", *SMALL)
    yield campaign
    if campaign.process.poll() is None:
        campaign.end(signal.SIGKILL)
    campaign.process.communicate()


def children(pid: int, name: str) -> list[int]:
    """Process ids of a process's children whose program has a name."""
    found = []
    for number in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with suppress(OSError):
            if name in Path(f"/proc/{number}/comm").read_text():
                found.append(int(number))
    return found


def test_a_kill_at_any_moment_loses_and_repeats_nothing(going: Going, tmp_path: Path) -> None:
    """Killed as a whole, resumed, killed again, resumed with another number of coordinators."""
    going.wait_for(7)
    assert going.end(signal.SIGKILL).code == -signal.SIGKILL
    kept = results_in(going.folder())
    second = start(tmp_path, "--resume", str(going.folder()))
    second.wait_for(len(kept) + 5)
    second.end(signal.SIGKILL)
    done = explore(tmp_path, "--resume", str(going.folder()), "--jobs", "2")
    assert done.ended.code == 0, done.ended.err
    assert [result.schedule for result in done.results] == list(range(LONG))
    assert [done.results[one.schedule] for one in kept] == kept
    lines = [one.schedule for results in by_part(done.folder).values() for one in results]
    assert sorted(lines) == list(range(LONG))
    table = pandas.read_parquet(done.folder / "histories")
    assert table.groupby("schedule").size().to_dict() == {result.schedule: result.events for result in done.results}
    (tmp_path / "plain").mkdir()
    plain = explore(tmp_path / "plain", "smoke", "--schedules", str(LONG), *SMALL)
    assert identities(plain) == identities(done)


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(going: Going) -> None:
    going.wait_for(3)
    told = going.end(signal.SIGINT)
    assert told.code == 3
    assert "was ended early by SIGINT" in told.err
    results = results_in(going.folder())
    assert 3 <= len(results) < LONG
    run = json.loads((going.folder() / "run.json").read_text())
    assert run["status"] == "interrupted"
    assert len(pandas.read_parquet(going.folder() / "histories").schedule.unique()) == len(results)
    again = start(going.home, "--resume", str(going.folder()))
    again.wait_for(len(results) + 3)
    again.end(signal.SIGKILL)
    assert invoke("analyze", going.folder()).exit_code != 2  # its files are as the killed command left them
    resumed = program("explore", "--resume", str(going.folder()), cwd=going.home)
    assert (resumed.code, len(results_in(going.folder()))) == (0, LONG)
    assert invoke("analyze", going.folder()).exit_code == 0


def test_an_actor_that_dies_by_itself_makes_its_schedule_unknown(going: Going) -> None:
    going.wait_for(3)
    killed = None
    while killed is None:
        for actor in children(children(going.process.pid, "python")[0], "python"):
            with suppress(ProcessLookupError):
                os.kill(actor, signal.SIGKILL)
                killed = actor
    told = ended(going.process)
    assert told.code == 3, told.err
    results = results_in(going.folder())
    assert len(results) == LONG
    unknown = [result for result in results if result.verdict == "unknown"]
    assert unknown
    reasons = {result.error or "" for result in unknown}
    assert all("died by itself, or was killed from outside" in one or "ended before it was connected" in one for one in reasons)
    assert all(one.split()[0] in told.out for one in reasons)


def test_a_coordinator_that_is_killed_ends_the_campaign(going: Going) -> None:
    going.wait_for(3)
    os.kill(children(going.process.pid, "python")[0], signal.SIGKILL)
    told = ended(going.process)
    assert told.code == 4
    assert "was killed" in told.err
    assert len(results_in(going.folder())) >= 3


def test_a_server_that_disappears_ends_the_campaign(going: Going) -> None:
    going.wait_for(3)
    (server,) = children(children(going.process.pid, "python")[0], "postgres")
    os.kill(server, signal.SIGQUIT)
    told = ended(going.process)
    assert told.code == 4, told.err
    assert "--resume" in told.err
    finished = results_in(going.folder())
    assert len(finished) >= 3
    assert json.loads((going.folder() / "run.json").read_text())["status"] == "failed"
    assert len(pandas.read_parquet(going.folder() / "histories").schedule.unique()) == len(finished)


def test_other_kinds_of_faults_are_drawn_and_counted(tmp_path: Path) -> None:
    mixed = explore(tmp_path, "smoke", "--faults", "pause,terminate", "--schedules", "8", *SMALL)
    assert mixed.ended.code in (0, 3), mixed.ended.err
    struck = mixed.document()["faults"]
    assert list(struck) == ["pause", "terminate"]
    assert all(struck.values())
    assert mixed.document()["crash_points"] == {}  # kill is not among the kinds
    assert "in every other one pause, terminate" in " ".join(mixed.ended.out.split())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("smoke", "--faults", "paus"), "no fault 'paus'; did you mean 'pause'?"),
        (("smoke", "--faults", "kill,pause", "--strategy", "exhaustive"), "An exhaustive search knows no faults but kills"),
    ],
)
def test_kinds_that_cannot_be_drawn(words: tuple[str, ...], told: str) -> None:
    ended = invoke("explore", *words)
    assert ended.exit_code == 2
    assert told in " ".join(ended.stderr.replace("│", "").split())
