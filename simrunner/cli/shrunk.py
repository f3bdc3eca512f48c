"""Shows a shrunk run: before and after, the interleaving, the sentence that explains it, and how to go on."""

from __future__ import annotations

import shlex
from dataclasses import asdict

from simrunner.analysis.facts import shown_path
from simrunner.analysis.names import fill_names
from simrunner.analysis.pipeline import Analysis, analyse, publish
from simrunner.cli.output import say_json, say_page
from simrunner.cli.shrinking import Made
from simrunner.errors import Divergence, InputError
from simrunner.model.tape import KILL, WAKE
from simrunner.model.verdict import Finding
from simrunner.report.interleaving import interleaving
from simrunner.report.page import Page, plain_table
from simrunner.search.export.forms import first_form
from simrunner.search.export.script_of import script_of
from simrunner.search.shrinking.failure import failure_of, finding_of
from simrunner.search.shrinking.shrink import Shrunk
from simrunner.store.folder import RunFolder
from simrunner.strategies.deviating import HOLD, Deviation


def show_shrunk(made: Made, *, as_json: bool) -> None:
    """Judge the shrunk run as any other, and show it. Raises Divergence if it does not fail as its tries did."""
    analysis = analyse(made.folder)
    publish(made.folder, analysis)
    finding = finding_of(analysis.verdict)
    failure = failure_of(analysis.verdict, analysis.history.events)
    if finding is None or failure != made.shrunk.failure or analysis.history_sha256 != made.shrunk.sha256:
        raise Divergence(f"the smallest case gave another history in a new database; what is left is in {analysis.path}")
    if as_json:
        say_json(_document(made.shrunk, analysis, finding))
    else:
        say_page(_page(made.folder, made.shrunk, analysis, finding))


def _document(shrunk: Shrunk, analysis: Analysis, finding: Finding) -> dict[str, object]:
    return {
        "invariant": finding.invariant,
        "explanation": fill_names(finding.explanation, analysis.history.context),
        "before": asdict(shrunk.before),
        "after": asdict(shrunk.after),
        "deviations": [deviation._asdict() for deviation in shrunk.case.deviations],
        "tried": shrunk.tried,
        "finished": shrunk.is_finished,
        "folder": str(analysis.path),
        "replay": analysis.replay,
    }


def _page(folder: RunFolder, shrunk: Shrunk, analysis: Analysis, finding: Finding) -> Page:
    events, context = analysis.history.events, analysis.history.context
    page = Page()
    table = plain_table("", "deviations>", "faults>", "workers>", "jobs>", "steps>")
    for name, weight in (("before", shrunk.before), ("after", shrunk.after)):
        table.add_row(name, *(str(value) for value in asdict(weight).values()))
    page.add(table, "", *([_deviation(one) for one in shrunk.case.deviations] or ["Round-robin, without any deviation."]), "")
    page.add(*interleaving(events, context, finding), "")
    page.add(f"{finding.invariant}: {fill_names(finding.explanation, context)}", "")
    if not shrunk.is_finished:
        page.add("The time was over before everything smaller was tried; the same command goes on from there.", "")
    path = shown_path(analysis.path)
    page.add_facts(
        ("tried", f"{shrunk.tried} candidates"),
        ("folder", path),
        ("export", _export(folder, path)),
        ("replay", analysis.replay),
    )
    return page


def _export(folder: RunFolder, path: str) -> str:
    """The line that exports the run; where that is refused, why."""
    try:
        return shlex.join(["simrunner", "export", path, "--to", first_form(script_of(folder))])
    except InputError as refusal:
        return f"this run {refusal.message}"


def _deviation(one: Deviation) -> str:
    if one.kind == KILL:
        return f"{one.actor} is killed at {one.at or 'a statement that waits'}, from round {one.round} on."
    if one.is_fault:
        whom = f" of {one.actor}" if one.actor else ""
        return f"{one.kind}{whom} at {one.at or 'a statement that waits'}, from round {one.round} on."
    if one.kind == HOLD:
        return f"{one.actor} is put off at step {one.place} of round {one.round}, until nobody else can go."
    if one.kind == WAKE:
        return f"{one.actor} is the waiter that goes first, at choice {one.place} of round {one.round}."
    return f"{one.actor} takes step {one.place} of round {one.round} out of turn."
