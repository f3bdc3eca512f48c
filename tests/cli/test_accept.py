"""`simrunner accept` with a few experiments on a real server: decision, evidence, repetition, and what is found later."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from simrunner.report.acceptance.wording import OBSERVATIONAL
from simrunner.store.folder import RunFolder
from simrunner.store.sums import sha256_of
from tests.cli.accepting import accept, start
from tests.cli.invoking import Ended, ended, invoke
from tests.runtime.runs import design_folder

FEW = ("claim-boundary", "ordering-rounds", "high-depth", "abandoned-claim")


@pytest.fixture(scope="module")
def accepted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ended, Path]:
    """An acceptance of the reference by a few experiments, and its folder."""
    results = tmp_path_factory.mktemp("accepted")
    return accept("reference", results, *FEW), (results / "latest").resolve()


@pytest.fixture
def copy(accepted: tuple[Ended, Path], tmp_path: Path) -> Path:
    """A copy of it that a test may spoil."""
    return shutil.copytree(accepted[1], tmp_path / "acceptance", symlinks=True)


def verdict(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "verdict.json").read_text())
    return document


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / "evidence" / name).open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_reference_is_accepted(accepted: tuple[Ended, Path]) -> None:
    ended, folder = accepted
    assert (ended.code, ended.err) == (0, "")
    assert "decision  ACCEPTED" in ended.out
    document = verdict(folder)
    assert list(document)[:12] == [
        *("schema", "verdict", "design", "workload", "seed", "mode", "postgres", "history_sha256", "events", "root_cause"),
        *("replay", "invariants"),
    ]
    assert (document["verdict"], document["decision"], document["root_cause"]) == ("valid", "ACCEPTED", None)
    assert {one["verdict"] for one in document["experiments"]} == {"PASSED"}


def test_it_is_a_run_folder_with_runs_in_it(accepted: tuple[Ended, Path]) -> None:
    _, folder = accepted
    assert folder.parent.name == "accept"
    assert RunFolder.open(folder).status() == "complete"
    runs = sorted(path.name for path in (folder / "experiments").iterdir())
    assert {"claim-boundary", "ordering-rounds", "ordering-rounds--rounds", "high-depth", "abandoned-claim"} < set(runs)
    assert {RunFolder.open(path).status() for path in (folder / "experiments").iterdir()} == {"complete"}
    assert invoke("analyze", folder / "experiments" / "claim-boundary").exit_code == 0


def test_every_file_of_the_evidence_is_hashed(accepted: tuple[Ended, Path]) -> None:
    evidence = accepted[1] / "evidence"
    manifest = json.loads((evidence / "manifest.json").read_text())
    names = {path.name for path in evidence.iterdir()} - {"manifest.json"}
    assert set(manifest["files"]) == names
    assert all(sha256_of(evidence / name) == total for name, total in manifest["files"].items())
    assert {"schema.sql", "seed.sql", "claim.sql", "complete.sql", "recover.sql", "final-jobs.csv", "job-events.csv"} < names
    assert {"experiment-ordering.csv", "experiment-abandoned-claim.csv", "acceptance.md", "acceptance.html"} < names


def test_the_report_names_every_file_and_every_experiment(accepted: tuple[Ended, Path]) -> None:
    evidence = accepted[1] / "evidence"
    report = (evidence / "acceptance.md").read_text()
    assert all(f"- `{path.name}`: " in report for path in evidence.iterdir() if path.name != "manifest.json")
    assert all(f"\n### {name}\n" in report for name in FEW)
    for label in ("Documented behaviour", "Engineering inference", "Proposed experiment", "Actual observation"):
        assert report.count(f"- **{label}**:") == len(FEW) + 1
    assert "NOT EXECUTED" not in report
    assert "step 4: worker-b claimed: did not wait; returned job 2, committed." in report


def test_claims_completions_and_recoveries_are_listed(accepted: tuple[Ended, Path]) -> None:
    _, folder = accepted
    claims = [row for row in rows(folder, "claims.csv") if row["run"] == "abandoned-claim"]
    assert [(row["job"], row["attempt"], row["from_state"], row["to_state"]) for row in claims] == [
        *(("1", "1", "ready", "claimed"), ("2", "1", "ready", "claimed"), ("2", "2", "ready", "claimed"))
    ]
    assert all(row["completed_by"] == "ok COMMIT" and row["completed_at"] > row["claimed_at"] for row in claims)
    late = [row["outcome"] for row in rows(folder, "completions.csv") if row["run"] == "abandoned-claim"]
    assert sorted(late) == ["accepted"] * 2 + ["refused"] * 3
    [recovery] = [row for row in rows(folder, "recoveries.csv") if row["run"] == "abandoned-claim"]
    assert recovery["expired_lease"] < recovery["recovered_at"] < recovery["reclaimed_at"]
    assert recovery["reclaimed_by"].startswith("worker-b")


def test_the_race_claims_the_top_of_each_round(accepted: tuple[Ended, Path]) -> None:
    raced = [row for row in rows(accepted[1], "experiment-ordering.csv") if row["run"] == "ordering-rounds--rounds"]
    for number in {row["round"] for row in raced}:
        taken = [row for row in raced if row["round"] == number and row["job"]]
        assert sorted(row["job"] for row in taken) == sorted(taken[0]["expected"].split())


def test_a_second_one_differs_only_where_it_says_so(accepted: tuple[Ended, Path], tmp_path: Path) -> None:
    again = accept("reference", tmp_path, *FEW)
    assert again.code == 0
    first, second = (
        (folder / "evidence/acceptance.md").read_text().splitlines() for folder in (accepted[1], tmp_path / "latest")
    )
    assert [line for line in first if not line.endswith(OBSERVATIONAL)] == [
        line for line in second if not line.endswith(OBSERVATIONAL)
    ]
    assert sum(line.endswith(OBSERVATIONAL) for line in first) < len(first) / 4
    assert verdict(accepted[1])["history_sha256"] == verdict((tmp_path / "latest").resolve())["history_sha256"]


def test_analyze_decides_again(copy: Path) -> None:
    result = invoke("analyze", copy)
    assert result.exit_code == 0, result.output
    assert "decision  ACCEPTED" in result.stdout
    printed = json.loads(invoke("analyze", "--json", copy).stdout)
    assert printed["evidence_problems"] == []
    assert {key: value for key, value in printed.items() if key in verdict(copy)} == verdict(copy)


def spoil(folder: Path, what: str) -> str:
    """Do something to the evidence and return what must be said about it."""
    evidence = folder / "evidence"
    if what == "removed":
        (evidence / "claims.csv").unlink()
        return "evidence/claims.csv is missing"
    if what == "altered":
        text = (evidence / "experiment-claim-boundary.txt").read_text()
        (evidence / "experiment-claim-boundary.txt").write_text(text.replace("job 2", "job 1", 1))
        return "evidence/experiment-claim-boundary.txt was altered"
    if what == "added":
        (evidence / "more.txt").write_text("more")
        return "evidence/more.txt is not in the manifest"
    manifest = json.loads((evidence / "manifest.json").read_text())
    (evidence / "claims.csv").write_text("run\n")
    manifest["files"]["claims.csv"] = sha256_of(evidence / "claims.csv")
    (evidence / "manifest.json").write_text(json.dumps(manifest))
    return "evidence/manifest.json is not the one that the acceptance wrote"


@pytest.mark.parametrize("what", ["removed", "altered", "added", "forged"])
def test_spoilt_evidence_is_named(what: str, copy: Path) -> None:
    words = spoil(copy, what)
    result = invoke("analyze", copy)
    assert (result.exit_code, words in result.stdout) == (3, True), result.output
    assert json.loads(invoke("analyze", "--json", copy).stdout)["evidence_problems"] == [words]


def test_a_run_that_is_gone_was_not_executed(copy: Path) -> None:
    shutil.rmtree(copy / "experiments" / "abandoned-claim")
    result = invoke("analyze", copy)
    assert result.exit_code == 3
    assert "NOT EXECUTED: abandoned-claim" in result.stdout
    assert "the acceptance decided ACCEPTED, but its stored runs say INCONCLUSIVE" in " ".join(result.stdout.split())


def test_an_acceptance_that_is_ended_early_can_be_judged(tmp_path: Path) -> None:
    process = start("reference", tmp_path, *FEW)
    while not (tmp_path / "latest/experiments/claim-boundary").exists():
        assert process.poll() is None
    process.terminate()
    told = ended(process)
    folder = (tmp_path / "latest").resolve()
    assert (told.code, told.err.splitlines()[-1]) == (3, f"simrunner analyze {folder}")
    assert RunFolder.open(folder).status() == "interrupted"
    result = invoke("analyze", folder)
    assert result.exit_code == 3
    assert "decision  INCONCLUSIVE" in result.stdout
    assert "NOT EXECUTED: ordering-rounds" in " ".join(result.stdout.split())


def test_a_damaged_run_is_unknown(copy: Path) -> None:
    part = copy / "experiments/high-depth/events/part-00000.parquet"
    part.write_bytes(part.read_bytes()[:-1])
    result = invoke("analyze", copy)
    assert result.exit_code == 3
    assert "high-depth: UNKNOWN" in result.stdout
    assert "is damaged" in result.stdout


def test_an_acceptance_is_not_replayed(copy: Path) -> None:
    result = invoke("replay", copy)
    assert (result.exit_code, "replay one of its runs" in result.stderr) == (2, True)


def test_a_mutant_is_rejected_by_name(tmp_path: Path) -> None:
    ended = accept("mutants/unfenced-completion", tmp_path, "claim-boundary", "abandoned-claim")
    assert ended.code == 1, ended.err
    document = verdict((tmp_path / "latest").resolve())
    assert (document["verdict"], document["decision"], document["root_cause"]) == ("violated", "REJECTED", "fenced-writes")
    assert "`fenced-writes` was violated in abandoned-claim" in ended.out
    assert "**REJECTED**" in (tmp_path / "latest/evidence/acceptance.md").read_text()


def test_what_a_design_does_not_promise_or_offer_is_shown(tmp_path: Path) -> None:
    ended = accept("variants/lock-only", tmp_path, "slow-work", "abandoned-claim", "high-depth")
    assert ended.code == 0, ended.err
    report = (tmp_path / "latest/evidence/acceptance.md").read_text()
    words = {one["name"]: one["verdict"] for one in verdict((tmp_path / "latest").resolve())["experiments"]}
    assert words["abandoned-claim"] == "NOT OFFERED"
    assert "(`short-claim-transaction`) | **not promised** |" in report
    assert "short-claim-transaction is not promised by this design here" in report
    assert "NOT EXECUTED" not in report


def test_one_run_that_gets_stuck_leaves_the_others(tmp_path: Path) -> None:
    claim = "SELECT pg_advisory_lock(1);\n" + Path("sql/reference/claim.sql").read_text()
    stuck = design_folder(tmp_path, {"claim": claim})
    ended = accept(stuck, tmp_path, "ordering-single", "high-depth")
    assert ended.code == 3, ended.err
    document = verdict((tmp_path / "latest").resolve())
    words = {one["name"]: one["verdict"] for one in document["experiments"]}
    assert words == {"ordering-single": "PASSED", "high-depth": "UNKNOWN"}
    assert document["decision"] == "INCONCLUSIVE"
    assert "nobody can go on" in " ".join(document["reasons"])


def test_a_control_that_shows_nothing_is_no_pass(accepted: tuple[Ended, Path], copy: Path) -> None:
    """The control's run is replaced by one of the design under test, in which nothing is violated."""
    control = copy / "experiments/abandoned-claim--mutants-unfenced-completion"
    shutil.rmtree(control)
    shutil.copytree(copy / "experiments/abandoned-claim", control)
    result = invoke("analyze", copy)
    assert result.exit_code == 3
    assert "this control must violate fenced-writes and violated nothing" in " ".join(result.stdout.split())
