"""`simrunner shrink` and `simrunner export`: a run as a user has it, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from simrunner.store.folder import RunFolder
from tests.cli.invoking import Ended, invoke, program
from tests.cli.stored import sound, stored, unfenced


class Broken(NamedTuple):
    """A failing run and its shrink."""

    home: Path
    folder: Path
    ended: Ended


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Broken:
    home = tmp_path_factory.mktemp("broken")
    assert program("run", "smoke", "--design", "mutants/no-recovery", cwd=home).code == 1
    folder = (home / "results/latest").resolve()
    return Broken(home, folder, program("shrink", folder, cwd=home))


def test_before_and_after_and_the_interleaving_are_shown(broken: Broken) -> None:
    assert (broken.ended.code, broken.ended.err) == (0, "")
    lines = [" ".join(line.split()) for line in broken.ended.out.splitlines()]
    assert lines[0] == "deviations faults workers jobs steps"
    assert lines[1].startswith("before ")
    assert lines[2].startswith("after 0 1 1 1 ")
    assert "worker-a is killed at after-commit, from round 1 on." in lines
    assert any("KILLED at after-commit" in line for line in lines)
    assert any(line.endswith("<-- VIOLATED") for line in lines)
    assert any(line.startswith("no-job-lost: Job 1 has no proper end") for line in lines)
    assert lines[-1].startswith("replay simrunner replay ")


def test_an_export_is_offered(broken: Broken) -> None:
    (offered,) = [line.split() for line in broken.ended.out.splitlines() if line.startswith("export ")]
    assert offered == ["export", "simrunner", "export", str((broken.folder / "shrunk").relative_to(broken.home)), "--to", "spec"]
    assert program(*offered[2:], cwd=broken.home).code == 0


@pytest.mark.parametrize(
    ("workload", "design", "why"),
    [
        (
            "lost-lock-connection",
            "mutants/trusts-lock-connection",
            "this run has workers with several connections, which cannot be exported: replay it instead",
        ),
        (
            "failing-statements",
            "mutants/effect-without-key",
            "this run holds the fault lock-timeout, which cannot be exported: replay it instead",
        ),
    ],
)
def test_no_export_is_offered_where_it_would_be_refused(tmp_path: Path, workload: str, design: str, why: str) -> None:
    assert program("run", workload, "--design", design, cwd=tmp_path).code == 1
    shrunk = program("shrink", "results/latest", cwd=tmp_path)
    assert (shrunk.code, shrunk.err) == (0, "")
    assert [line.partition("  ")[2].strip() for line in shrunk.out.splitlines() if line.startswith("export ")] == [why]
    assert invoke("export", (tmp_path / "results/latest/shrunk").resolve(), "--to", "pytest").exit_code == 2


def test_the_shrunk_run_is_a_run_like_any_other(broken: Broken) -> None:
    shrunk = broken.folder / "shrunk"
    verdict = json.loads((shrunk / "verdict.json").read_text())
    assert verdict["root_cause"] == "no-job-lost"
    about = RunFolder.open(shrunk).run()["shrunk"]
    assert about["from"] == broken.folder.name
    assert [one["kind"] for one in about["deviations"]] == ["kill"]
    replayed = program("replay", shrunk, "--json", cwd=broken.home)
    assert replayed.code == 1
    assert replayed.json()["equal"] is True
    assert replayed.json()["history_sha256"] == verdict["history_sha256"]


def test_a_second_shrink_tries_nothing_again(broken: Broken) -> None:
    tried = (broken.folder / "shrink.jsonl").read_bytes()
    again = program("shrink", broken.folder, "--json", cwd=broken.home)
    assert again.code == 0
    assert (broken.folder / "shrink.jsonl").read_bytes() == tried
    document = again.json()
    assert document["invariant"] == "no-job-lost"
    assert document["after"] == {**document["after"], "deviations": 0, "faults": 1, "workers": 1, "jobs": 1}
    assert document["finished"] is True


@pytest.mark.parametrize(("form", "first"), [("spec", "# mutants/no-recovery"), ("pytest", '"""mutants'), ("psql", "-- mutants")])
def test_exports_are_printed_or_written(broken: Broken, form: str, first: str) -> None:
    shrunk = broken.folder / "shrunk"
    printed = invoke("export", shrunk, "--to", form)
    assert (printed.exit_code, printed.stderr) == (0, "")
    assert printed.stdout.startswith(first)
    written = invoke("export", shrunk, "--to", form, "--output", broken.home / "case")
    assert (written.exit_code, written.output) == (0, "")
    assert (broken.home / "case").read_text() == printed.stdout
    refused = invoke("export", shrunk, "--to", form, "--output", broken.home / "missing/case")
    assert (refused.exit_code, "missing/case: cannot be written" in refused.stderr) == (2, True)


@pytest.mark.parametrize("name", ["shrink", "export"])
@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda results: stored(results, unfenced(), complete=False), "is interrupted: only a run that reached its end"),
        (lambda results: stored(results, unfenced(), status="failed"), "is failed: only a run that reached its end"),
        (lambda results: edited(stored(results, unfenced()), mode="rounds"), "is a concurrent run (rounds)"),
        (lambda results: edited(stored(results, unfenced()), design_sha256="0" * 64), "design reference has changed"),
        (lambda results: results / "nowhere", "there is no such run folder"),
    ],
)
def test_runs_that_are_refused(name: str, make: Callable[[Path], Path], told: str, tmp_path: Path) -> None:
    result = invoke(name, make(tmp_path), *([] if name == "shrink" else ["--to", "spec"]))
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in " ".join(result.stderr.split())


def test_a_run_without_a_violation_is_refused(tmp_path: Path) -> None:
    folder = stored(tmp_path, sound())
    assert invoke("analyze", folder).exit_code in (0, 3)
    for name, words in (("shrink", ()), ("export", ("--to", "psql"))):
        result = invoke(name, folder, *words)
        assert (result.exit_code, "there is no violation to" in result.stderr) == (2, True)


def test_a_crash_that_nobody_decided_is_refused(tmp_path: Path) -> None:
    folder = edited(
        stored(tmp_path, unfenced()), decisions=[["round", None, None, 1], ["kill", "worker-a", "unplanned-crash", None]]
    )
    result = invoke("shrink", folder)
    assert (result.exit_code, "killed from outside" in result.stderr) == (2, True)


def test_a_folder_of_runs_is_refused(tmp_path: Path) -> None:
    folder = stored(tmp_path, unfenced())
    (folder / "events").rename(folder / "histories")
    result = invoke("shrink", folder)
    assert (result.exit_code, "name one of them" in result.stderr) == (2, True)


def edited(folder: Path, **tape: object) -> Path:
    document = json.loads((folder / "tape.json").read_text())
    (folder / "tape.json").write_text(json.dumps({**document, **tape}))
    return folder
