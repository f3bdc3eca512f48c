"""An acceptance on the terminal: one line an experiment, what is wrong with the evidence, the decision."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from simrunner.analysis.facts import shown_path
from simrunner.report.acceptance.acceptance import Acceptance
from simrunner.report.acceptance.gate import DecisionWord
from simrunner.report.acceptance.manifest import EVIDENCE
from simrunner.report.acceptance.package import REPORT_MD
from simrunner.report.acceptance.results import Experiment, Word
from simrunner.report.page import Page, plain_table

_STYLES = {
    Word.PASSED: "green",
    Word.FAILED: "bold red",
    Word.NOT_PROMISED: "dim",
    Word.NOT_OFFERED: "dim",
    DecisionWord.ACCEPTED: "bold green",
    DecisionWord.REJECTED: "bold red",
}
_OTHERWISE = "yellow"


def summary_page(acceptance: Acceptance, problems: Sequence[str] = ()) -> Page:
    """Return what an acceptance came to. `problems` are what is wrong with its evidence."""
    table = plain_table("experiment", "verdict", "runs>", "violated by the design")
    for one in acceptance.experiments:
        table.add_row(one.name, _styled(one.word), str(_ran(one)), ", ".join(_violated(one)))
    page = Page(table)
    reasons = [*acceptance.decision.reasons, *problems]
    page.add("", *(f"- {reason}" for reason in reasons), *[""] * bool(reasons))
    page.add_facts(
        ("decision", _styled(acceptance.decision.word)),
        ("folder", shown_path(acceptance.path)),
        ("report", shown_path(acceptance.path / EVIDENCE / REPORT_MD)),
        ("again", acceptance.again),
    )
    return page


def _styled(word: Word | DecisionWord) -> Text:
    return Text(word.value, _STYLES.get(word, _OTHERWISE))


def _ran(experiment: Experiment) -> int:
    return sum(1 for result in experiment.results if result.analysis is not None)


def _violated(experiment: Experiment) -> list[str]:
    return list(dict.fromkeys(name for result in experiment.own for name in result.violated))
