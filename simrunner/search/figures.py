"""What a campaign achieved, from its finished schedules alone: the figures of its end report and of `campaign.json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from simrunner.errors import RunFolderError
from simrunner.model.operations import SEARCHED_CRASH_POINTS
from simrunner.model.tape import KILL
from simrunner.model.verdict import Verdict
from simrunner.runtime.actors import lanes_of
from simrunner.runtime.performance import Request
from simrunner.search.campaign import EXHAUSTIVE, Campaign, Positive
from simrunner.search.findings import firsts
from simrunner.store import files
from simrunner.store.folder import COMPLETE, RunFolder
from simrunner.store.schedules import ScheduleResult, by_part
from simrunner.strategies.exhaustive import next_prefix
from simrunner.strategies.pct import detection_probability

VERDICT_JSON = "verdict.json"
DEPTHS = (1, 2, 3)
"""Bug depths for which the probability of a find is told."""


class Scale(msgspec.Struct, frozen=True):
    """What was known before the first schedule; `run.json` keeps it under `scale`."""

    actors: Positive
    steps: Positive
    """Of the longest of a few round-robin schedules: the k of PCT."""
    interleavings: int | None
    """Schedules of an exhaustive search as counted from one round-robin schedule; None: not counted."""
    goals: tuple[str, ...]
    """The workload's `must_exercise`."""


class Finding(msgspec.Struct, frozen=True):
    """A root cause and how often it was found."""

    root_cause: str
    schedules: int
    first: int
    """Number of the first schedule that shows it."""
    folder: str
    """Where that is kept, relative to the campaign's folder."""
    explanation: str
    """What happened in it."""


class Figures(msgspec.Struct, frozen=True):
    """What a campaign achieved."""

    verdict: str
    status: str
    schedules: int
    unknown: int
    distinct_histories: int
    steps: int
    events: int
    seconds: float
    """Real time from which the rates are: of the part that took longest."""
    longest_steps: int
    crash_points: dict[str, int]
    """Kills at each crash point at which this campaign kills; 0: never reached."""
    faults: dict[str, int]
    """How often each other kind of fault struck."""
    goals: dict[str, int]
    """Schedules in which each invariant of the workload's `must_exercise` had an opportunity."""
    findings: list[Finding]
    reasons: dict[str, int]
    """Why schedules are unknown."""
    not_deterministic: int
    """Schedules in which a choice could not be enforced."""
    probability: dict[str, float]
    """pct: with which a bug of a depth would have been found, by depth."""
    expected: int | None
    """exhaustive: schedules as counted beforehand."""
    is_exhausted: bool
    """exhaustive: nothing is left."""


def figures_of(
    folder: RunFolder, campaign: Campaign, scale: Scale, results: Sequence[ScheduleResult], kept: Sequence[Path]
) -> Figures:
    """Return the figures of a campaign. `results` by number, `kept` the folders of its findings in the order of `firsts`."""
    known = [result for result in results if result.verdict != Verdict.UNKNOWN.value]
    reasons = Counter(result.error or "" for result in results if result.verdict == Verdict.UNKNOWN.value)
    exercised = Counter(name for result in known for name in result.exercised)
    goals = {name: exercised[name] for name in scale.goals}
    is_exhausted = campaign.strategy == EXHAUSTIVE and bool(results) and next_prefix(results[-1].path) is None
    return Figures(
        verdict=_verdict(results, goals, folder.status()).value,
        status=folder.status(),
        schedules=len(results),
        unknown=len(results) - len(known),
        distinct_histories=len({result.sha256 for result in known}),
        steps=sum(result.steps for result in results),
        events=sum(result.events for result in results),
        seconds=_seconds(folder),
        longest_steps=max((result.steps for result in known), default=0),
        crash_points=_crash_points(campaign, results),
        faults=_faults(campaign, results),
        goals=goals,
        findings=_findings(results, kept, folder),
        reasons=dict(reasons),
        not_deterministic=sum(1 for result in results if not result.is_deterministic),
        probability=_probability(campaign, scale, known),
        expected=scale.interleavings,
        is_exhausted=is_exhausted,
    )


def scale_in(folder: RunFolder) -> Scale:
    """Return what a campaign measured. Raises RunFolderError."""
    try:
        return msgspec.convert(folder.run().get("scale"), Scale)
    except msgspec.ValidationError as error:
        raise RunFolderError(f"run.json of the campaign is damaged ({error})", place=folder.path) from error


def scale_of(base: Request, steps: int, interleavings: int | None) -> Scale:
    """Return the scale of a campaign whose schedules have about so many steps."""
    return Scale(len(lanes_of(base.workload)), steps, interleavings, base.workload.must_exercise)


def document_of(figures: Figures) -> dict[str, Any]:
    """Return `campaign.json`."""
    document: dict[str, Any] = msgspec.to_builtins(figures)
    return document


def _verdict(results: Sequence[ScheduleResult], goals: Mapping[str, int], status: str) -> Verdict:
    """Of a campaign that did not come to its end a violation stands, and all else is unknown."""
    verdicts = {result.verdict: None for result in results}
    for verdict in (Verdict.VIOLATED, Verdict.UNKNOWN):
        if verdict.value in verdicts:
            return verdict
    if status != COMPLETE:
        return Verdict.UNKNOWN
    return Verdict.VALID if results and all(goals.values()) else Verdict.NOT_EXERCISED


def _seconds(folder: RunFolder) -> float:
    return max((sum(one.duration_us for one in part) for part in by_part(folder.path).values()), default=0) / 1e6


def _crash_points(campaign: Campaign, results: Sequence[ScheduleResult]) -> dict[str, int]:
    hit = Counter(point for result in results for point in result.crash_points)
    return {**dict.fromkeys(SEARCHED_CRASH_POINTS if campaign.kills else (), 0), **{point: hit[point] for point in hit}}


def _faults(campaign: Campaign, results: Sequence[ScheduleResult]) -> dict[str, int]:
    struck = Counter(kind for result in results for kind in result.faults)
    return {kind: struck[kind] for kind in campaign.faults if kind != KILL}


def _findings(results: Sequence[ScheduleResult], kept: Sequence[Path], folder: RunFolder) -> list[Finding]:
    times = Counter(result.root_cause for result in results if result.root_cause is not None)
    return [
        Finding(cause, times[cause], first.schedule, str(place.relative_to(folder.path)), _explanation(place, cause))
        for (cause, first), place in zip(firsts(results).items(), kept, strict=True)
    ]


def _explanation(place: Path, cause: str) -> str:
    """The sentences of the root cause in a finding's verdict.json; none yet where the campaign was killed."""
    if not (place / VERDICT_JSON).exists():
        return "not analyzed yet"
    document: _Document = files.read_json(place / VERDICT_JSON, _Document)
    told = [row.first_violation.explanation for row in document.invariants if row.name == cause and row.first_violation]
    return told[0] if told else "not in its verdict.json any more"


class _Violation(msgspec.Struct):
    """Of verdict.json: what is told of a violation here."""

    explanation: str


class _Row(msgspec.Struct):
    """Of verdict.json: an invariant."""

    name: str
    first_violation: _Violation | None


class _Document(msgspec.Struct):
    """A verdict.json."""

    invariants: tuple[_Row, ...]


def _probability(campaign: Campaign, scale: Scale, known: Sequence[ScheduleResult]) -> dict[str, float]:
    if campaign.strategy != "pct":
        return {}
    looked = Counter(result.depth for result in known if result.depth is not None)
    return {str(depth): round(detection_probability(depth, scale.actors, scale.steps, looked), 6) for depth in DEPTHS}
