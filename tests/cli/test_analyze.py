"""`simrunner analyze` on stored runs: the folder alone is enough, and it is judged the same every time."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from simrunner.history.history import History
from simrunner.store.folder import RunFolder
from simrunner.store.parquet import read_findings
from tests.cli.invoking import invoke
from tests.cli.stored import sound, stored, unfenced


def verdict_of(folder: Path) -> dict[str, object]:
    document: dict[str, object] = json.loads((folder / "verdict.json").read_text())
    return document


@pytest.mark.parametrize(("history", "code", "verdict"), [(sound(), 0, "valid"), (unfenced(), 1, "violated")])
def test_exit_code_and_verdict_agree(history: History, code: int, verdict: str, tmp_path: Path) -> None:
    folder = stored(tmp_path, history)
    result = invoke("analyze", folder)
    assert result.exit_code == code, result.output
    assert verdict_of(folder)["verdict"] == verdict
    assert result.stdout.splitlines()[-1] == f"replay    simrunner replay {folder}"


def test_root_cause_and_witness_are_shown(tmp_path: Path) -> None:
    folder = stored(tmp_path, unfenced())
    text = " ".join(invoke("analyze", folder).stdout.split())
    assert "Root cause: fenced-writes (an owner that lost its claim changes nothing any more)" in text
    assert "ghost.1 completed job 1 with token worker-a.1/1" in text
    assert "transition recover claimed -> ready, job 1" in text
    assert "{job" not in text


def test_consequences_are_shown_as_such(tmp_path: Path) -> None:
    folder = stored(tmp_path, unfenced())
    lines = invoke("analyze", folder).stdout.splitlines()
    rows = {line.split()[0]: line for line in lines if line.endswith(("root cause", "consequence"))}
    assert rows.pop("fenced-writes").endswith("root cause")
    assert "legal-transition" in rows
    later = lines[lines.index("Later findings, which are consequences or stand behind the root cause:") :]
    assert any(line.startswith("legal-transition") for line in later)


def test_json_is_the_verdict_with_its_folder(tmp_path: Path) -> None:
    folder = stored(tmp_path, unfenced())
    printed = json.loads(invoke("analyze", "--json", folder).stdout)
    assert printed.pop("folder") == str(folder)
    assert printed.pop("status") == "complete"
    assert printed == verdict_of(folder)
    assert list(printed) == [
        *("schema", "verdict", "design", "workload", "seed", "mode", "postgres", "history_sha256", "events"),
        *("root_cause", "replay", "invariants", "certificate"),
    ]
    assert printed["postgres"] == "18.4"


def test_a_deleted_verdict_is_made_again(tmp_path: Path) -> None:
    folder = stored(tmp_path, unfenced())
    invoke("analyze", folder)
    before, findings = (folder / "verdict.json").read_bytes(), read_findings(folder / "findings.parquet")
    (folder / "verdict.json").unlink()
    (folder / "findings.parquet").unlink()
    invoke("analyze", folder)
    assert (folder / "verdict.json").read_bytes() == before
    assert read_findings(folder / "findings.parquet") == findings
    assert findings[0].invariant == "fenced-writes"


def test_a_moved_folder_is_judged_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = stored(tmp_path / "results", sound())
    before = invoke("analyze", "--json", folder).stdout
    shutil.move(folder, tmp_path / "a folder with spaces")
    monkeypatch.chdir(tmp_path)
    result = invoke("analyze", "--json", "a folder with spaces")
    after = json.loads(result.stdout)
    assert after["replay"] == "simrunner replay 'a folder with spaces'"
    assert after["history_sha256"] == json.loads(before)["history_sha256"]


def test_an_interrupted_run_is_sealed_and_unknown(tmp_path: Path) -> None:
    folder = stored(tmp_path, sound(), sealed=False, complete=False)
    result = invoke("analyze", folder)
    assert result.exit_code == 3
    assert verdict_of(folder)["verdict"] == "unknown"
    assert "status    interrupted" in result.stdout
    assert not (folder / "events/journal").exists()


def test_a_violation_stands_in_an_interrupted_run(tmp_path: Path) -> None:
    folder = stored(tmp_path, unfenced(), sealed=False, complete=False)
    assert invoke("analyze", folder).exit_code == 1
    assert verdict_of(folder)["root_cause"] == "fenced-writes"


def test_a_failed_run_says_why(tmp_path: Path) -> None:
    folder = stored(tmp_path, sound(), complete=False, status="failed", error="the server went away")
    result = invoke("analyze", folder)
    assert result.exit_code == 3
    assert "status    failed: the server went away" in result.stdout


def test_a_folder_that_cannot_be_written_is_judged_all_the_same(tmp_path: Path) -> None:
    folder = stored(tmp_path, sound(), sealed=False)
    for name in ("names.json", "findings.parquet"):  # stand for any write that fails, also for root
        (folder / name).mkdir()
    result = invoke("analyze", folder)
    assert result.exit_code == 0
    assert "The verdict is shown, but not kept" in result.stderr
    assert RunFolder.open(folder).status() == "complete"
    assert (folder / "events/journal").exists()


def test_a_rounds_run_names_the_command_that_asks_again(tmp_path: Path) -> None:
    folder = stored(tmp_path, sound(), mode="rounds", settings=[["fixture.jobs", "3"]])
    result = invoke("analyze", folder)
    assert result.stdout.splitlines()[-1] == (
        "again     simrunner run smoke --design reference --seed 1 --mode rounds --set fixture.jobs=3"
    )


def test_designs_that_are_no_longer_found_by_name_are_named_by_path(tmp_path: Path) -> None:
    paths = {"design": str(tmp_path / "mine"), "workload": str(tmp_path / "w.toml")}
    folder = stored(tmp_path, sound(), mode="rounds", design="mine", workload="w", paths=paths)
    last = invoke("analyze", folder).stdout.splitlines()[-1]
    assert last == f"again     simrunner run {tmp_path}/w.toml --design {tmp_path}/mine --seed 1 --mode rounds"
