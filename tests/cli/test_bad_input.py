"""Every mistake of a user ends with 2 and a sentence that says what to do; nothing is started and no traceback shown."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from simrunner.config import list_designs, list_workloads, load_design, load_workload
from simrunner.config.lookup import find
from simrunner.config.workload import WORKLOADS
from simrunner.errors import DesignError, WorkloadError
from simrunner.search.request import check_design, check_workload
from simrunner.store.folder import RUNNING, RunFolder
from tests.cli.invoking import invoke
from tests.cli.stored import sound, stored, unfenced


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("run smok", "no workload 'smok'.*did you mean 'smoke'"),
        ("run nothing-like-it", "Known: .*high-depth"),
        ("run smoke --design mutants/no-recover", "did you mean 'mutants/no-recovery'"),
        ("run smoke --design /nowhere", "no design '/nowhere'"),
        ("run smoke --strategy randon", "--strategy: no strategy 'randon'; did you mean 'random'"),
        ("run smoke --mode chaos", "'chaos' is not one of"),
        ("run smoke --seed -1", "-1 is not in the range"),
        ("run smoke --seed x", "'x' is not a valid integer"),
        ("run smoke --pace -1", "not in the range"),
        ("run smoke --postgres 17", "'17' is not one of"),
        ("run smoke --postgres 18 --dsn host=x", "--postgres chooses the embedded server"),
        ("run smoke --set rounds", "--set rounds: expected KEY=VALUE"),
        ("run smoke --set =3", "--set =3: expected KEY=VALUE"),
        ("run smoke --set safety.rounds=many", "--set safety.rounds=many"),
        ("run smoke --set saefty.rounds=2", "did you mean 'safety.rounds'"),
        ("run smoke --set rounds=2", "which one"),
        ("run smoke --set jobs=2 --set jobs=3", "jobs is set twice"),
        ("run smoke --set jobs=2 --set fixture.jobs=3", "fixture.jobs is set twice"),
        ("run smoke --set strategy=randon", "no strategy 'randon'"),
        ("run smoke --set judges=claim-ordr --set must_exercise=", "no invariant 'claim-ordr'; did you mean 'claim-order'"),
        ("run smoke --set judges=nothing-leaked --set must_exercise=", "no checker of 'nothing-leaked'"),
        ("run smoke --set faults.0.kind=kil", "no fault 'kil'; did you mean 'kill'"),
        ("run smoke --set faults.0.actor=worker-z", "no actor 'worker-z'"),
        ("run smoke extra", "unexpected extra argument"),
        ("run", "Missing argument"),
        ("rum smoke", "No such command"),
        ("analyze nowhere", "no such run folder"),
        ("analyze .", "is not a run folder"),
        ("replay nowhere", "no such run folder"),
        ("kill worker-a", "results/latest: there is no such run folder"),
        ("list workload", "is not one of"),
        ("show smok", "nothing is named 'smok'; did you mean 'smoke'"),
        ("show ./nowhere", "no design './nowhere'"),
        ("show nowhere.toml", "no workload 'nowhere.toml'"),
    ],
)
def test_mistakes(words: str, told: str, tmp_path: Path) -> None:
    result = invoke(*words.split())
    assert result.exit_code == 2
    assert result.stdout == ""
    assert re.search(told, " ".join(result.stderr.split())), result.stderr
    assert not (tmp_path / "results").exists()


def test_a_results_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = invoke("run", "smoke", "--results", tmp_path / "file")
    assert result.exit_code == 2
    assert "is a file" in result.stderr


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda folder: (folder / "run.json").unlink(), "is not a run folder"),
        (lambda folder: (folder / "run.json").write_text('{"schema": 1,'), "run.json: is truncated"),
        (lambda folder: (folder / "run.json").write_text("[]"), "is not a run of simrunner"),
        (lambda folder: edit(folder, schema=99), "newer simrunner"),
        (lambda folder: edit(folder, context=None), "context is damaged or missing"),
        (lambda folder: edit(folder, terms={}), "terms are damaged or missing"),
        (lambda folder: edit(folder, postgres=None), "run.json is damaged"),
        (lambda folder: (folder / "seal.json").unlink(), "its events were removed"),
        (lambda folder: (folder / "events/part-00000.parquet").unlink(), "part-00000.parquet: cannot be read"),
        (lambda folder: truncate(folder / "events/part-00000.parquet"), "part-00000.parquet: is damaged"),
        (lambda folder: truncate(folder / "names.json"), "names.json: is damaged"),
    ],
)
def test_damaged_folders(change: Callable[[Path], object], told: str, tmp_path: Path) -> None:
    folder = stored(tmp_path / "results", sound())
    change(folder)
    result = invoke("analyze", folder)
    assert result.exit_code == 2
    assert told in " ".join(result.stderr.split())
    assert result.stdout == ""


def edit(folder: Path, **changes: object) -> None:
    document = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**document, **changes}))


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"design_sha256": "0" * 64}, "design reference has changed since the run was made"),
        ({"workload_sha256": "0" * 64}, "workload smoke has changed since the run was made"),
        ({"design": "gone"}, "its design or workload is gone or changed: no design 'gone'"),
        ({"settings": [["no.such", "1"]]}, "gone or changed: --set no.such"),
        ({"mode": "rounds"}, "is a concurrent run"),
        ({"postgres_major": 17}, "made on PostgreSQL 17, which is not embedded"),
        ({"schema": 2}, "newer simrunner"),
        ({"decisions": []}, "nothing to replay"),
        ({"decisions": [["jump", None, None, None]]}, "of no known kind"),
    ],
)
def test_tapes_that_cannot_be_followed(change: dict[str, object], told: str, tmp_path: Path) -> None:
    folder = stored(tmp_path / "results", unfenced())
    tape = json.loads((folder / "tape.json").read_text())
    (folder / "tape.json").write_text(json.dumps({**tape, **change}))
    result = invoke("replay", folder)
    assert result.exit_code == 2
    assert told in " ".join(result.stderr.split())
    assert len(list(folder.parent.glob("2*"))) == 1


def test_a_run_that_is_going_on_is_neither_judged_nor_replayed(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path, "smoke", "reference", 1, datetime(2026, 9, 22, tzinfo=UTC)) as folder:
        assert folder.status() == RUNNING
        for name in ("analyze", "replay"):
            result = invoke(name, folder.path)
            assert (result.exit_code, "is still running" in result.stderr) == (2, True)
        result = invoke("kill", "worker-a", "--run", folder.path)
        assert (result.exit_code, "has not started its workers yet" in result.stderr) == (2, True)


def test_only_a_running_run_has_somebody_to_kill(tmp_path: Path) -> None:
    folder = stored(tmp_path / "results", sound())
    result = invoke("kill", "worker-a", "--run", folder)
    assert (result.exit_code, "is not running (complete)" in result.stderr) == (2, True)


def test_a_design_that_promises_what_does_not_exist(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/design.toml").write_text('extends = "reference"\n[promises]\ninvariants = ["claim-ordr"]\n')
    with pytest.raises(DesignError, match=r"no invariant 'claim-ordr'; did you mean 'claim-order'"):
        check_design(load_design("mine"))
    result = invoke("run", "smoke", "--design", "mine")
    assert (result.exit_code, "promises.invariants" in result.stderr) == (2, True)


def test_shipped_designs_and_workloads_name_what_exists() -> None:
    for design in list_designs():
        check_design(load_design(design.name))
    for workload in list_workloads():
        check_workload(load_workload(workload.name))


def test_a_workload_with_a_mistake_is_named_with_its_line(tmp_path: Path) -> None:
    text = find(WORKLOADS, "smoke")[1].read_text()
    (tmp_path / "mine.toml").write_text(text.replace("workers = 2", "workers = 0"))
    with pytest.raises(WorkloadError):
        load_workload("mine.toml")
    result = invoke("run", "mine.toml")
    assert (result.exit_code, "mine.toml:" in result.stderr) == (2, True)
