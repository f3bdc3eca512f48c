"""The report as text: readable in 80 columns, plain in a pipe, nothing that was not asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from rich.text import Text

from simrunner.analysis.pipeline import Analysis, analyse
from simrunner.model.verdict import Finding, InvariantVerdict, Verdict
from simrunner.report.page import Page, plain_table
from simrunner.report.text import verdict_page
from simrunner.store.folder import RunFolder
from tests.cli.stored import sound, stored, unfenced


@pytest.fixture
def violated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Analysis:
    monkeypatch.chdir(tmp_path)
    return analyse(RunFolder.open(stored(tmp_path, unfenced())))


@pytest.fixture
def valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Analysis:
    monkeypatch.chdir(tmp_path)
    return analyse(RunFolder.open(stored(tmp_path, sound())))


def text(analysis: Analysis, width: int = 80) -> str:
    return verdict_page(analysis).render(width, colour=False)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_it_fits(violated: Analysis, width: int) -> None:
    lines = text(violated, width).splitlines()
    facts = ("history", "sha256", "folder", "replay")
    assert [line for line in lines if len(line) > width and not line.startswith(facts)] == []
    assert [line for line in lines if line != line.rstrip()] == []


def test_a_pipe_gets_only_ascii(violated: Analysis) -> None:
    assert text(violated).isascii()
    assert "\x1b" not in text(violated)


def test_a_terminal_gets_colours(violated: Analysis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert "\x1b[1;31mviolated" in verdict_page(violated).render(80, colour=True)


def test_every_invariant_has_its_row(valid: Analysis) -> None:
    rows = {line.split()[0]: line for line in text(valid).splitlines() if line}
    for row in valid.verdict.invariants:
        assert row.verdict.value in rows[row.name]
        assert f" {row.opportunities} " in rows[row.name]


def test_a_pass_says_what_it_rests_on(valid: Analysis) -> None:
    assert "reached  fault kill at after-commit struck  1 of 1 times" in text(valid)
    assert "Root cause" not in text(valid)


def test_what_was_missed_stands_out(valid: Analysis) -> None:
    verdict = replace(valid.verdict, verdict=Verdict.NOT_EXERCISED, certificate=(("every worker took steps", False, "1 of 2"),))
    assert "MISSED  every worker took steps  1 of 2" in text(replace(valid, verdict=verdict))


def test_the_last_line_repeats_the_run(violated: Analysis) -> None:
    assert text(violated).splitlines()[-1] == f"replay    simrunner replay smoke/{violated.path.name}"


def test_the_certificate_of_throughput_is_not_issued(violated: Analysis, valid: Analysis) -> None:
    for word in ("per second", "throughput", "latency"):
        assert word not in (text(violated) + text(valid)).lower()


def test_unknown_says_why_once(valid: Analysis) -> None:
    rows = tuple(replace(row, verdict=Verdict.UNKNOWN, error="no final rows") for row in valid.verdict.invariants)
    shown = text(replace(valid, verdict=replace(valid.verdict, invariants=rows)))
    assert shown.count("no final rows") == 1
    assert f"Unknown ({sum(row.judged for row in rows)} invariants): no final rows." in shown


def test_a_long_witness_is_cut(violated: Analysis) -> None:
    events = tuple(range(1, 61))
    finding = Finding("claim-order", 60, 1, events, "Job {job:1} was passed.")
    row = InvariantVerdict("claim-order", Verdict.VIOLATED, True, True, 1, 1, finding)
    shown = text(replace(violated, verdict=replace(violated.verdict, root_cause="claim-order", invariants=(row,))))
    assert "Job 1 was passed." in shown
    assert "(20 more events; all are in findings.parquet)" in shown


def test_what_the_workload_does_not_judge_is_marked(valid: Analysis) -> None:
    rows = tuple(replace(row, judged=False) for row in valid.verdict.invariants)
    shown = text(replace(valid, verdict=replace(valid.verdict, invariants=rows)))
    assert shown.count("not judged") == len(rows)


@pytest.mark.parametrize("name", ["[bold]job[/bold]", ":smile:", "x1\ny2", "\x07bell", "ü" * 100, "[/]"])
def test_names_are_never_taken_for_markup(name: str) -> None:
    table = plain_table("job")
    table.add_row(name)
    page = Page(table, name)
    page.add_facts(("job", name), ("styled", Text(name)))
    shown = "".join(page.render(80, colour=False).split())
    assert shown.count("".join(name.replace("\x07", "").split())) == 4


@pytest.mark.parametrize("colour", [False, True])
def test_a_page_that_quotes_something_tells_a_terminal_nothing(colour: bool) -> None:
    table = plain_table("", "")
    table.add_row("means", 'no column "a\x1b[2Jb"')
    page = Page("x\x1b[2Jy", table, Text("u\u202ev", "bold"))
    page.add_facts(("place", "\x9b2J"))
    text = page.render(80, colour=colour)
    assert [obeyed for obeyed in ("\x1b[2J", "\x9b", "\u202e") if obeyed in text] == []
    for shown in ("x\\x1b[2Jy", "a\\x1b[2Jb", "u\\u202ev", "\\x9b2J"):
        assert shown in text
