"""`simrunner list` and `simrunner show`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simrunner.checkers.registry import CHECKERS
from simrunner.checkers.undecided import UNDECIDED
from simrunner.cli.catalog import CATALOG
from simrunner.cli.listing import KINDS
from tests.cli.invoking import invoke

NAMES = [(kind, name, title) for kind, titles_of in CATALOG.items() for name, title in titles_of().items()]


def test_every_kind_can_be_listed() -> None:
    assert tuple(CATALOG) == KINDS


def test_no_invariant_is_both_decided_and_undecided() -> None:
    assert [checker.name for checker in CHECKERS if checker.name in UNDECIDED] == []


@pytest.mark.parametrize("kind", KINDS)
def test_list(kind: str) -> None:
    expected = CATALOG[kind]()
    listed = json.loads(invoke("list", kind, "--json").stdout)
    assert {entry["name"]: entry["title"] for entry in listed} == expected
    text = invoke("list", kind).stdout
    assert all(f"{name} " in text for name in expected)
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(("kind", "name", "title"), NAMES, ids=[name for _, name, _ in NAMES])
def test_show(kind: str, name: str, title: str) -> None:
    result = invoke("show", name)
    assert result.exit_code == 0
    assert f"{name}: {title}" in " ".join(result.stdout.split())


def test_a_workload_is_explained() -> None:
    text = " ".join(invoke("show", "high-depth").stdout.split())
    assert "Does every job of the original cohort reach its end" in text
    assert "kill at after-claim-before-commit; kill at after-commit" in text
    assert "replays complete of dead workers" in text


def test_a_mutant_names_what_must_be_found() -> None:
    text = " ".join(invoke("show", "mutants/claim-outside-order").stdout.split())
    assert "must find claim-order as the root cause" in text
    assert "may find starvation-freedom" in text


def test_an_invariant_names_who_promises_and_judges_it() -> None:
    text = " ".join(invoke("show", "effect-once").stdout.split())
    assert "needs the operation effect" in text
    assert "reference" in text.partition("promised by")[2]
    assert "smoke" in text.partition("judged by")[2]


def test_paths_can_be_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/design.toml").write_text('extends = "reference"\ntitle = "My own"\n')
    monkeypatch.chdir(tmp_path)
    assert "My own" in invoke("show", "./mine").stdout


def test_sql_that_reads_the_real_clock_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/design.toml").write_text('extends = "reference"\n')
    (tmp_path / "mine/report.sql").write_text("SELECT 1,\n  'now'::timestamptz;\n")
    monkeypatch.chdir(tmp_path)
    text = " ".join(invoke("show", "./mine").stdout.split())
    assert "beware mine/report.sql:2: 'now' reads the real clock" in text
    assert "beware" not in invoke("show", "reference").stdout


def test_a_broken_design_does_not_hide_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sql/broken").mkdir(parents=True)
    (tmp_path / "sql/broken/design.toml").write_text("title =")
    monkeypatch.chdir(tmp_path)
    assert "reference" in invoke("list", "designs").stdout
    assert "reference" in invoke("show", "claim-order").stdout
    result = invoke("show", "broken")
    assert (result.exit_code, "design.toml" in result.stderr) == (2, True)
