"""What spoilt inputs have found, one by one: each once ended in a traceback, waited for ever, or said something useless."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import click
import pytest

from simrunner.cli.run import settings_of
from simrunner.config import load_design, load_workload
from simrunner.errors import DesignError, InputError, RunFolderError, TapeError, WorkloadError
from simrunner.history.schema import SCHEMA, VERSION_KEY
from simrunner.report.acceptance.manifest import MANIFEST, SUM_KEY, read_manifest, verify
from simrunner.report.acceptance.plan import MAIN
from simrunner.report.acceptance.results import parts_from
from simrunner.review.registry import review
from simrunner.search.campaign import kept_in
from simrunner.search.shrinking.tried import TRIED, Tried
from simrunner.spec.plan import read_plan
from simrunner.store.folder import RunFolder
from simrunner.store.parquet import read_events, write_events
from simrunner.store.schedules import by_part, repair
from simrunner.store.sums import sha256_of
from simrunner.store.tape import read_tape
from tests.cli.stored import stored, unfenced
from tests.hostile.kinds import NOWHERE, called
from tests.runtime.runs import ROOT, STARTED, design_folder

PART: dict[str, Any] = {
    **dict.fromkeys(("experiment", "workload", "file", "design", "mode", "title"), "x"),
    "name": "smoke--rounds",
    "role": MAIN,
    "violates": None,
    "missing": [],
    "prose": dict.fromkeys(("documented", "page", "hypothesis", "procedure", "accepted_when"), ""),
}
DEEP = "[" * 5000 + "]" * 5000


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def workload(text: str, name: str = "w.toml") -> str:
    Path(name).write_text(text)
    return name


def put(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value))


def changed(folder: Path, **changes: object) -> RunFolder:
    """Open a folder of which keys of run.json were changed."""
    put(folder / "run.json", {**json.loads((folder / "run.json").read_text()), **changes})
    return RunFolder.open(folder)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return stored(tmp_path / "results", unfenced())


@pytest.mark.parametrize(
    ("text", "told"),
    [(f"title = {DEEP}", "nested too deeply"), ("title = " + "1" * 5000, r"4300 digits")],
)
def test_toml_that_python_does_not_like(text: str, told: str) -> None:
    with pytest.raises(WorkloadError, match=rf"w\.toml: not valid TOML: .*{told}"):
        load_workload(workload(text))


@pytest.mark.parametrize("expression", ["(" * 3000 + "1" + ")" * 3000, "NOT " * 5000 + "true", "CASE WHEN " * 2000])
def test_sql_that_is_nested_too_deeply_is_not_reviewed(expression: str, tmp_path: Path) -> None:
    design = load_design(str(design_folder(tmp_path, {"report": f"SELECT {expression} AS count"})))
    assert any("report.sql" in str(remark.place) for remark in review(design))


def test_json_that_is_nested_too_deeply(run: Path) -> None:
    (run / "tape.json").write_text(DEEP)
    with pytest.raises(TapeError, match=r"tape\.json: is truncated or not JSON"):
        read_tape(run / "tape.json")
    (run / "run.json").write_text(DEEP)
    with pytest.raises(RunFolderError, match=r"run\.json: is truncated"):
        RunFolder.open(run)


@pytest.mark.parametrize("name", ["events/journal", "final/rows.json"])
def test_an_integer_beyond_64_bits(name: str, tmp_path: Path) -> None:
    run = stored(tmp_path / "unsealed", unfenced(), sealed=False)
    text = (run / name).read_text()
    spoilt, times = re.subn(r'^(\{"jobs":\[\[|\[1,"\w+",)(null|\d+)', rf"\g<1>{2**64}", text, count=1, flags=re.MULTILINE)
    assert times == 1
    (run / name).write_text(spoilt)
    with pytest.raises(RunFolderError, match=rf"{name}: is damaged"):
        called("analyze", run)
    assert (run / "events/journal").exists()
    assert not (run / "seal.json").exists()


def test_what_a_message_quotes_can_be_shown() -> None:
    error = InputError("no \x1b[2J \0 \udcff \ufeff 'é日'\nnext " + "x" * 10_000, place="f")
    assert str(error).startswith(r"f: no \x1b[2J \x00 \udcff \ufeff 'é日'" + "\nnext xxx")
    assert 3000 < len(str(error)) <= 4000


def test_a_pipe_is_not_waited_for(tmp_path: Path, run: Path) -> None:
    design = design_folder(tmp_path, {})
    for path in (design / "claim.sql", tmp_path / "a.spec"):
        os.mkfifo(path)
    with pytest.raises(DesignError, match=r"claim\.sql: cannot be read: it is not a file"):
        load_design(str(design))
    with pytest.raises(InputError, match=r"a\.spec: cannot be read: it is not a file"):
        read_plan(tmp_path / "a.spec")
    for name in ("names.json", "events/journal"):
        (run / name).unlink(missing_ok=True)
        os.mkfifo(run / name)
        with pytest.raises(RunFolderError, match=rf"{name}: cannot be read: it is not a file"):
            called("analyze", run)
    changed(run, status="running")
    (run / "run.lock").unlink()
    os.mkfifo(run / "run.lock")
    assert RunFolder.open(run).status() == "interrupted"


def test_a_link_is_named_and_not_what_it_leads_to(tmp_path: Path) -> None:
    design = design_folder(tmp_path, {})
    (design / "claim.sql").symlink_to("/")
    with pytest.raises(DesignError, match=r"^design/claim\.sql: cannot be read: it is not a file"):
        load_design(str(design))


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "circle"])
def test_a_name_that_no_file_can_have(name: str, tmp_path: Path) -> None:
    (tmp_path / "circle").mkdir()
    (tmp_path / "circle/design.toml").symlink_to("design.toml")
    with pytest.raises(DesignError, match="no design"):
        load_design(name)
    design = design_folder(tmp_path, {})
    (design / "design.toml").write_text(f"extends = {json.dumps(name)}\n")
    with pytest.raises(DesignError, match=r"design/design\.toml:1: extends: no design"):
        load_design(str(design))


def test_a_path_that_is_not_utf8(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "sql/reference", tmp_path / "bad\udcff")
    with pytest.raises(DesignError, match=r"bad\\udcff/design\.toml: the path is not UTF-8"):
        load_design("bad\udcff")
    with pytest.raises(WorkloadError, match=r"--set title=\\udcff: holds a character"):
        settings_of(["title=\udcff"])


def test_removes_that_is_no_list(tmp_path: Path) -> None:
    with pytest.raises(DesignError, match=r"design\.toml:\d+: removes: expected array, got int"):
        load_design(str(design_folder(tmp_path, {}, "removes = 1\n")))


def test_a_workload_does_not_lead_out_of_the_results(tmp_path: Path) -> None:
    shutil.copy(ROOT / "workloads/smoke.toml", tmp_path / "...toml")
    name = load_workload("...toml").name
    folder = RunFolder.create(tmp_path / "results", name, "../../x", 1, STARTED)
    assert name == ".."
    assert folder.path.parent == tmp_path / "results/--"


@pytest.mark.parametrize("words", ["run smoke --pace", "explore smoke --seconds", "shrink run --seconds"])
@pytest.mark.parametrize("seconds", ["nan", "inf"])
def test_seconds_that_no_clock_counts(words: str, seconds: str) -> None:
    with pytest.raises(click.BadParameter, match=r"is not a number of seconds|is not in the range"):
        called(*words.split(), seconds, "--dsn", NOWHERE)


CAMPAIGN: dict[str, Any] = {
    "kind": "campaign",
    "status": "interrupted",
    "started": "2026-09-22T06:00:00+00:00",
    "sessions": 1,
    "postgres": {"major": 18, "version": "PostgreSQL 18.4"},
    "campaign": {"workload": "smoke", "design": "reference"},
    "scale": {"actors": 4, "steps": 60, "interleavings": None, "goals": []},
}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"campaign": None}, "campaign"),
        ({"sessions": "x"}, "sessions"),
        ({"postgres": {}}, "postgres"),
        ({"paths": [1]}, "paths"),
        ({"campaign": {"workload": "smoke", "design": "reference", "depth": 0}}, "depth"),
        ({"campaign": {"workload": "smoke", "design": "reference", "strategy": "x"}}, "strategy"),
        ({"scale": {**CAMPAIGN["scale"], "steps": 0}}, "steps"),
    ],
)
def test_a_damaged_campaign_is_not_resumed(changes: dict[str, object], told: str, run: Path) -> None:
    changed(run, **{**CAMPAIGN, **changes})
    with pytest.raises(RunFolderError, match=rf"run\.json of the campaign is damaged \(.*{told}"):
        called("explore", "--resume", run, "--dsn", NOWHERE)


def test_a_campaign_whose_design_is_gone_is_named(run: Path) -> None:
    changed(run, **{**CAMPAIGN, "campaign": {"workload": "smoke", "design": "."}})
    with pytest.raises(TapeError, match=rf"{run.name}: cannot be resumed, .*no design '\.'"):
        called("explore", "--resume", run, "--dsn", NOWHERE)
    (run / "run.lock").unlink()
    (run / "run.lock").mkdir()
    with pytest.raises(RunFolderError, match=r"run\.lock: cannot go on \(Is a directory\)"):
        called("explore", "--resume", run, "--dsn", NOWHERE)


SCHEDULE = {"schedule": 0, "seed": 1, "verdict": "violated", "sha256": "", "steps": 1, "events": 1, "duration_us": 1}


def test_damaged_schedules(run: Path) -> None:
    (run / "schedules-x.jsonl").write_text("no number")
    put(run / "schedules-0.jsonl", {**SCHEDULE, "root_cause": "/nowhere"})
    with (run / "schedules-0.jsonl").open("a") as file:
        file.write("\n")
    with pytest.raises(RunFolderError, match=r"schedules-0\.jsonl: is damaged .*root_cause"):
        by_part(run)
    put(run / "schedules-0.jsonl", {**SCHEDULE, "root_cause": None})
    (run / "events-0-0.bin").write_bytes(b"\0\0\0\1\xc1")
    with pytest.raises(RunFolderError, match=r"events-0-0\.bin: is damaged"):
        repair(run)


@pytest.mark.parametrize("verdict", [[], {}, {"invariants": [True]}])
def test_a_finding_with_another_verdict_json(verdict: object, run: Path) -> None:
    changed(run, **{**CAMPAIGN, "status": "complete"})
    put(run / "schedules-0.jsonl", {**SCHEDULE, "root_cause": "claim-order"})
    with (run / "schedules-0.jsonl").open("a") as file:
        file.write("\n")
    place = run / "findings/claim-order-0/verdict.json"
    place.parent.mkdir(parents=True)
    put(place, verdict)
    with pytest.raises(RunFolderError, match=r"claim-order-0/verdict\.json: is truncated or not what"):
        called("analyze", run)
    put(place, {"invariants": []})
    assert called("analyze", run) == 1


@pytest.mark.parametrize("verdict", [[], {}, {"mode": "stepped", "verdict": "x", "history_sha256": ""}])
def test_a_shrink_of_a_run_with_another_verdict_json(verdict: object, run: Path) -> None:
    put(run / "verdict.json", verdict)
    with pytest.raises(RunFolderError, match=r"verdict\.json: is truncated or not what"):
        called("shrink", run, "--dsn", NOWHERE)


def test_a_folder_where_a_shrink_keeps_its_tries(run: Path) -> None:
    (run / TRIED).mkdir()
    with pytest.raises(RunFolderError, match=rf"{TRIED}: cannot be read"):
        Tried(run, "x")


@pytest.mark.parametrize("manifest", [[], {}, {"decision": "ACCEPTED"}, {"decision": "ACCEPTED", "files": [1]}])
def test_a_manifest_that_is_none(manifest: object, run: Path) -> None:
    (run / "evidence").mkdir()
    put(run / "evidence" / MANIFEST, manifest)
    folder = changed(run, **{SUM_KEY: sha256_of(run / "evidence" / MANIFEST)})
    with pytest.raises(RunFolderError, match=r"manifest\.json: is truncated or not what"):
        verify(folder)
    assert read_manifest(folder).decision is None


@pytest.mark.parametrize("name", ["../other", "/other", "..", ""])
def test_parts_of_an_acceptance_lie_in_its_folder(name: str, run: Path) -> None:
    assert parts_from(changed(run, parts=[PART]))
    with pytest.raises(RunFolderError, match="regex"):
        parts_from(changed(run, parts=[{**PART, "name": name}]))


def test_an_experiment_of_which_the_design_under_test_has_no_run(run: Path) -> None:
    beside = {**PART, "name": "beside", "role": "control"}
    assert len(parts_from(changed(run, parts=[PART, beside]))) == 2
    with pytest.raises(RunFolderError, match="no run of the experiment x is that of the design under test"):
        parts_from(changed(run, parts=[{**PART, "role": "controls"}, beside]))


@pytest.mark.parametrize("version", ["9" * 5000, "\u0663", "-1", ""])
def test_a_version_of_events_that_is_no_number(version: str, tmp_path: Path) -> None:
    told = SCHEMA.empty_table().replace_schema_metadata({VERSION_KEY: version})
    write_events(tmp_path / "part.parquet", told)
    assert read_events(tmp_path / "part.parquet") == []
    write_events(tmp_path / "part.parquet", told.replace_schema_metadata({VERSION_KEY: "99"}))
    with pytest.raises(RunFolderError, match=r"part\.parquet: has events of a newer simrunner \(schema 99\)"):
        read_events(tmp_path / "part.parquet")


def test_a_campaign_is_read_from_what_it_kept(run: Path) -> None:
    assert kept_in(changed(run, **CAMPAIGN)).campaign.depth == 3
