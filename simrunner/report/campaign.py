"""A campaign as text for people: what it is before it begins, and what it achieved. No pyarrow: its actors are not forked yet."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from simrunner.analysis.facts import Server, shown_path
from simrunner.model.tape import KILL
from simrunner.model.verdict import Verdict
from simrunner.report.page import Page
from simrunner.report.text import STYLES
from simrunner.runtime.performance import Request
from simrunner.search.campaign import EXHAUSTIVE, Budget, Campaign
from simrunner.search.figures import Figures, Scale
from simrunner.store.folder import COMPLETE

COALESCING = (
    "Steps are coalesced: BEGIN and local work happen with the step that follows. No other actor can notice when they do, but"
    " this is given up: the crash point during-work is the same as after-commit, and no virtual time passes in between, so that a"
    " transaction's now() is always the time of its first statement."
)
NOTHING_PRUNED = (
    "Nothing was pruned. Outside the safety phase there is one way only, round-robin, and no kill; an actor that merely hears"
    " what to do in a round does so at once."
)


def opening_page(campaign: Campaign, base: Request, server: Server, scale: Scale, path: Path) -> Page:
    """Return what stands above a campaign: the question, and everything that fixes its schedules."""
    design, workload = base.design, base.workload
    page = Page(Text(f"{workload.name}: {workload.title}", "bold"), " ".join(workload.question.split()), "")
    settings = ", ".join(f"{key}={value}" for key, value in workload.settings)
    page.add_facts(
        ("design", f"{design.name}: {design.title}"),
        ("seed", str(campaign.seed)),
        ("strategy", strategy_words(campaign, scale)),
        ("budget", budget_words(campaign.budget)),
        *([("settings", settings)] if settings else []),
        ("server", f"PostgreSQL {server.number}"),
        ("folder", shown_path(path)),
    )
    return page


def strategy_words(campaign: Campaign, scale: Scale) -> str:
    """What produces the schedules, in words."""
    kills = f"at most {campaign.kills} kill{'' if campaign.kills == 1 else 's'} in one schedule" if campaign.kills else "no kills"
    others = [kind for kind in campaign.faults if kind != KILL]
    faults = f"{kills}; in every other one {', '.join(others)}" if others else kills
    more = {
        "pct": f" for bugs of depth 1 to {campaign.depth} in turn, among {scale.actors} actors and {scale.steps} steps",
        "delay-bounded": f", {campaign.delays} delays among {scale.steps} steps",
        EXHAUSTIVE: f", {_expected(scale.interleavings)}",
    }
    twice = ", every schedule twice" if campaign.recheck else ""
    return f"{campaign.strategy}{more.get(campaign.strategy, '')}; {faults}{twice}"


def budget_words(budget: Budget) -> str:
    """When a campaign ends, in words."""
    bounds = [f"{budget.schedules:,} schedules"]
    bounds += [f"{budget.seconds:g} seconds"] if budget.seconds is not None else []
    bounds += [f"{budget.steps:,} steps"] if budget.steps is not None else []
    return f"at most {', '.join(bounds)}{'; ends at the first violation' if budget.stop_at_first else ''}"


def closing_page(campaign: Campaign, scale: Scale, figures: Figures, path: Path) -> Page:
    """Return what a campaign achieved. Its last lines are the commands that go on from here."""
    page = Page("")
    page.add_facts(*_achieved(figures))
    if figures.findings:
        page.add("")
        page.add_facts(*_findings(figures, path))
    for section in (_unknown(figures), _reached(figures), _bounds(campaign, figures, scale.steps)):
        page.add(*section)
    page.add("")
    page.add_facts(*_closing(figures, path))
    return page


def _achieved(figures: Figures) -> Iterator[tuple[str, str | Text]]:
    known = figures.schedules - figures.unknown
    yield "schedules", f"{figures.schedules:,}, with {figures.distinct_histories:,} distinct histories among {known:,}"
    if figures.seconds:
        rates = f"{figures.schedules / figures.seconds:,.1f} schedules and {figures.steps / figures.seconds:,.0f} steps a second"
        yield "steps", f"{figures.steps:,} in {figures.seconds:,.1f} s: {rates}; {figures.events:,} events"
    if figures.not_deterministic:
        yield "not fixed", f"{figures.not_deterministic:,} schedules had a choice that could not be enforced on this server"


def _findings(figures: Figures, path: Path) -> Iterator[tuple[str, str | Text]]:
    for one in figures.findings:
        times = f"{one.schedules:,} schedule{'' if one.schedules == 1 else 's'}, first {one.first}"
        yield "violated", Text.assemble((one.root_cause, "bold red"), f" in {times}: {one.explanation}")
        yield "replay", shlex.join(["simrunner", "replay", shown_path(path / one.folder)])


def _unknown(figures: Figures) -> Iterator[RenderableType]:
    for reason, times in figures.reasons.items():
        yield ""
        yield f"Unknown ({times:,} schedules): {reason}."


def _reached(figures: Figures) -> Iterator[RenderableType]:
    yield ""
    for title, counts in (
        ("kills at each crash point", figures.crash_points),
        ("other faults", figures.faults),
        ("schedules that had to reach", figures.goals),
    ):
        if counts:
            yield Text.assemble(f"{title}: ", *_counted(counts))


def _counted(counts: Mapping[str, int]) -> Iterator[Text | str]:
    for place, (name, count) in enumerate(counts.items()):
        yield ", " if place else ""
        yield Text(f"{name} {count:,}" if count else f"{name} NONE", "" if count else "yellow")


def _bounds(campaign: Campaign, figures: Figures, steps: int) -> Iterator[RenderableType]:
    yield ""
    if figures.probability:
        chances = ", ".join(f"depth {depth}: {chance:.2%}" for depth, chance in figures.probability.items())
        yield f"Probability with which a bug would have been found, at least (PCT's bound): {chances}."
        yield f"It holds for bugs within the first {steps} steps of a schedule; the longest had {figures.longest_steps}."
    if campaign.strategy == EXHAUSTIVE:
        ran = "all were run" if figures.is_exhausted else "the budget ended before the search"
        yield f"Before: {_expected(figures.expected)}. Run: {figures.schedules:,}; {ran}. {NOTHING_PRUNED}"
    yield COALESCING


def _expected(interleavings: int | None) -> str:
    if interleavings is None:
        return "too many schedules to be counted beforehand"
    return f"{interleavings:,} schedules, if every actor takes as many steps as in round-robin"


def _closing(figures: Figures, path: Path) -> Iterator[tuple[str, str | Text]]:
    verdict = Verdict(figures.verdict)
    yield "verdict", Text(verdict.value, STYLES[verdict])
    if figures.status != COMPLETE:
        yield "status", figures.status
    yield "folder", shown_path(path)
    if figures.status != COMPLETE:
        yield "go on", resume_line(path)


def resume_line(path: Path) -> str:
    """Return the command line that goes on with a campaign."""
    return shlex.join(["simrunner", "explore", "--resume", shown_path(path)])
