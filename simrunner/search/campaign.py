"""A campaign: many schedules of one workload against one design, and all that says which schedules they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import msgspec
from msgspec import Meta, structs

from simrunner import __version__
from simrunner.analysis.facts import Server
from simrunner.config.lookup import is_there
from simrunner.errors import InputError, RunFolderError, TapeError, WorkloadError
from simrunner.runtime.performance import Request
from simrunner.search.request import prepare
from simrunner.store.folder import RunFolder
from simrunner.strategies.registry import StrategyOptions

EXHAUSTIVE = "exhaustive"
SCHEDULES, EXHAUSTIVE_SCHEDULES = 200, 20_000
"""The usual budgets."""


Positive = Annotated[int, Meta(ge=1)]


class Budget(msgspec.Struct, frozen=True):
    """When a campaign ends. None: no such bound."""

    schedules: Positive = SCHEDULES
    seconds: Annotated[float, Meta(gt=0)] | None = None
    """No schedule is begun later; counted anew when a campaign is resumed."""
    steps: Positive | None = None
    """No schedule is begun once so many steps were taken."""
    stop_at_first: bool = False
    """No schedule is begun once an invariant was found violated."""


class Campaign(msgspec.Struct, frozen=True):
    """All that says which schedules a campaign runs and when it ends; `run.json` keeps it under `campaign`."""

    workload: str
    """Name or path."""
    design: str
    """Name or path."""
    settings: dict[str, str] = {}
    """--set values by key."""
    seed: Annotated[int, Meta(ge=0)] = 1
    """Each schedule has a seed of its own, made from this one."""
    strategy: Annotated[str, Meta(pattern="^(pct|random|round-robin|delay-bounded|exhaustive)$")] = "pct"
    depth: Annotated[int, Meta(ge=1, le=20)] = 3
    """pct: the schedules look for bugs of depth 1 to this, in turn."""
    delays: Annotated[int, Meta(ge=0, le=100)] = 2
    """delay-bounded: delays in one schedule."""
    kills: Annotated[int, Meta(ge=0, le=5)] = 1
    """Most kills in one schedule."""
    faults: tuple[str, ...] = ("kill",)
    """Kinds of faults; of each schedule a subset of those that are no kills, each once."""
    recovery: bool = False
    """exhaustive: the recoverer's steps interleave like everybody's; otherwise it goes first in each round."""
    recheck: bool = False
    """Run every schedule twice and end at the first difference."""
    budget: Budget = Budget()
    postgres: int = 18
    """Major version of the server."""


class Identity(msgspec.Struct, frozen=True):
    """What must still be the same when a campaign is resumed; keys of run.json."""

    simrunner: str
    design_sha256: str
    workload_sha256: str


def request_of(campaign: Campaign, paths: Mapping[str, str] | None = None) -> Request:
    """Load and check what a campaign is about. `paths`: from where design and workload were read when it began.

    Raises DesignError, or WorkloadError for a scripted workload too: there is nothing to explore in it.
    """
    where = {name: path for name, path in (paths or {}).items() if is_there(path)}
    workload, design = where.get("workload", campaign.workload), where.get("design", campaign.design)
    plain = prepare(workload, design, campaign.settings, seed=campaign.seed, mode="stepped", strategy=None)
    if plain.workload.script:
        raise WorkloadError("is a script: its steps are fixed, so there is nothing to explore", place=plain.workload.path)
    options = StrategyOptions(campaign.depth, campaign.delays)
    return replace(plain, strategy=campaign.strategy, coalesce=True, options=options)


def identity_of(request: Request) -> Identity:
    """Return what a resumed campaign is compared by."""
    return Identity(__version__, request.design.sha256, request.workload.sha256)


class Kept(msgspec.Struct, frozen=True):
    """What run.json keeps of a campaign."""

    campaign: Campaign
    started: str
    sessions: Positive
    """Commands that have worked on it."""
    postgres: Server
    paths: dict[str, str] = {}
    """From where design and workload were read."""


def kept_in(folder: RunFolder) -> Kept:
    """Return what the folder of a campaign keeps of it. Raises RunFolderError if it is none."""
    if not is_campaign(folder):
        raise RunFolderError("is no campaign of `simrunner explore`", place=folder.path)
    kept: Kept = _converted(folder, folder.run(), Kept)
    return kept


def campaign_in(folder: RunFolder) -> Campaign:
    """Return the campaign of a folder. Raises RunFolderError if it is none."""
    return kept_in(folder).campaign


def is_campaign(folder: RunFolder) -> bool:
    """Whether a run folder is that of a campaign."""
    return folder.run().get("kind") == "campaign"


def check_same(folder: RunFolder, request: Request) -> None:
    """Raise TapeError if design, workload or simrunner are not what they were when the campaign began."""
    then, now = structs.asdict(_converted(folder, folder.run(), Identity)), structs.asdict(identity_of(request))
    changed = [name.partition("_")[0] for name in now if then[name] != now[name]]
    if changed:
        raise TapeError(f"cannot be resumed: {' and '.join(changed)} changed since it began; start a new one", place=folder.path)


def check_given(campaign: Campaign, given: Mapping[str, object]) -> None:
    """Raise InputError if what was given on the command line is not what a campaign was begun with."""
    had = {**structs.asdict(campaign), **structs.asdict(campaign.budget)}
    other = [f"{name.replace('_', '-')} {value} (it has {had[name]})" for name, value in given.items() if had[name] != value]
    if other:
        raise InputError(f"the campaign was begun with other arguments: {', '.join(other)}", place="--resume")


def _converted(folder: RunFolder, document: Any, kind: type[Any]) -> Any:
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        raise RunFolderError(f"run.json of the campaign is damaged ({error})", place=folder.path) from error
