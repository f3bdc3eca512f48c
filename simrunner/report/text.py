"""A verdict as text for people: the table, the root cause with its witness, what a pass rests on, how to repeat it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from simrunner.analysis.facts import shown_path
from simrunner.analysis.names import fill_names
from simrunner.analysis.pipeline import Analysis
from simrunner.analysis.witness import WitnessRow, witness_rows
from simrunner.checkers.registry import CHECKERS
from simrunner.model.verdict import Finding, InvariantVerdict, Verdict
from simrunner.report.page import Page, plain_table
from simrunner.store.folder import COMPLETE

STYLES = {
    Verdict.VALID: "green",
    Verdict.VIOLATED: "bold red",
    Verdict.UNKNOWN: "yellow",
    Verdict.NOT_EXERCISED: "yellow",
    Verdict.NOT_PROMISED: "dim",
    Verdict.NOT_OFFERED: "dim",
}

_TITLES = {checker.name: checker.title for checker in CHECKERS}
_NAMES_MAX = 4
_WITNESS_WHAT = ("", "job", "token", "")
"""Words before the columns what, job, token and detail of a witness's row."""


def verdict_page(analysis: Analysis) -> Page:
    """Return the report of a judged run. Its last line is the command that repeats the run."""
    page = Page()
    page.add(_table(analysis))
    for section in (_root_cause(analysis), _consequences(analysis), _failures(analysis), _certificate(analysis)):
        page.add(*section)
    page.add("")
    page.add_facts(*_closing(analysis))
    return page


def _table(analysis: Analysis) -> Table:
    table = plain_table("invariant", "verdict", "opportunities>", "violations>", "")
    for row in analysis.verdict.invariants:
        table.add_row(
            row.name,
            Text(row.verdict.value, STYLES[row.verdict]),
            str(row.opportunities),
            str(row.violations),
            _remark(row, analysis.verdict.root_cause),
        )
    return table


def _remark(row: InvariantVerdict, root_cause: str | None) -> str:
    if row.name == root_cause:
        return "root cause"
    if row.verdict is Verdict.VIOLATED and root_cause is not None:
        return "consequence"
    return "" if row.judged else "not judged"


def _root_cause(analysis: Analysis) -> Iterator[RenderableType]:
    name = analysis.verdict.root_cause
    first = next((row.first for row in analysis.verdict.invariants if row.name == name), None)
    if name is None or first is None:
        return
    yield ""
    yield Text.assemble("Root cause: ", (name, "bold red"), f" ({_TITLES.get(name, '')}), event {first.seq}")
    yield fill_names(first.explanation, analysis.history.context)
    rows = witness_rows(first, analysis.history.events, analysis.history.context)
    yield ""
    yield _witness(rows)
    if len(rows) < len(first.witness):
        yield f"({len(first.witness) - len(rows)} more events; all are in findings.parquet)"


def _witness(rows: Sequence[WitnessRow]) -> Table:
    table = plain_table("seq>", "virtual time", "actor", "what happened")
    one_day = len({row.time[:10] for row in rows}) == 1
    for row in rows:
        parts = zip(_WITNESS_WHAT, (row.what, row.job, row.token, row.detail), strict=True)
        words = ", ".join(f"{label} {text}".strip() for label, text in parts if text)
        table.add_row(row.seq, row.time[11:] if one_day else row.time, row.who, words)
    return table


def _consequences(analysis: Analysis) -> Iterator[RenderableType]:
    cause = analysis.verdict.root_cause
    later = [row for row in analysis.verdict.invariants if row.verdict is Verdict.VIOLATED and row.name != cause]
    if cause is None or not later:
        return
    yield ""
    yield "Later findings, which are consequences or stand behind the root cause:"
    table = plain_table("", "", "")
    for row in sorted(later, key=lambda row: row.first.seq if row.first else 0):
        table.add_row(row.name, *_first_words(row.first, analysis))
    yield table


def _first_words(first: Finding | None, analysis: Analysis) -> tuple[str, str]:
    return ("", "") if first is None else (f"event {first.seq}", fill_names(first.explanation, analysis.history.context))


def _failures(analysis: Analysis) -> Iterator[RenderableType]:
    """What could not be judged, each reason once."""
    reasons: dict[str, list[str]] = {}
    for row in analysis.verdict.invariants:
        if row.error is not None and row.judged and row.verdict is Verdict.UNKNOWN:
            reasons.setdefault(row.error, []).append(row.name)
    for reason, names in reasons.items():
        yield ""
        whose = ", ".join(names) if len(names) <= _NAMES_MAX else f"{len(names)} invariants"
        yield f"Unknown ({whose}): {reason}."


def _certificate(analysis: Analysis) -> Iterator[RenderableType]:
    if not analysis.verdict.certificate:
        return
    yield ""
    yield "What a pass rests on:"
    table = plain_table("", "", "")
    for text, reached, figures in analysis.verdict.certificate:
        table.add_row(Text("reached", "green") if reached else Text("MISSED", "yellow"), text, figures)
    yield table


def _closing(analysis: Analysis) -> list[tuple[str, str | Text]]:
    verdict = analysis.verdict.verdict
    error = f": {analysis.facts.error}" if analysis.facts.error else ""
    status: list[tuple[str, str | Text]] = [("status", analysis.status + error)] if analysis.status != COMPLETE else []
    return [
        ("verdict", Text(verdict.value, STYLES[verdict])),
        *status,
        ("history", f"{len(analysis.history.events)} events"),
        ("sha256", analysis.history_sha256),
        ("folder", shown_path(analysis.path)),
        ("replay" if analysis.facts.mode == "stepped" else "again", analysis.replay),
    ]
