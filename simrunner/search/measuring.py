"""How long a schedule is: what PCT and the delay bound need to know, and what an exhaustive search has before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from simrunner.model.operations import CRASH_POINTS, SEARCHED_CRASH_POINTS
from simrunner.model.workload import FaultSpec
from simrunner.runtime.performance import Request
from simrunner.search.campaign import EXHAUSTIVE, Campaign
from simrunner.search.explorer import Played, used
from simrunner.search.sources import going_first
from simrunner.strategies.counting import interleavings
from simrunner.strategies.surveyor import Surveyor


def measure(campaign: Campaign, base: Request, play: Callable[[Request, int], Played]) -> tuple[int, int | None]:
    """Return the steps of the longest of a few round-robin schedules, and how many an exhaustive search will run.

    The schedules are one without a fault and, where a campaign kills, one for each crash point. The second figure is None
    where it is not asked for or cannot be counted cheaply.
    """
    surveyor = Surveyor(frozenset(CRASH_POINTS), going_first(campaign, base))
    plain = replace(base, strategy="round-robin", workload=replace(base.workload, faults=()))
    surveyed = play(replace(plain, decider=surveyor), 0)
    played = [surveyed, *(play(request, 0) for request in _killing(plain, campaign.kills))]
    asked = campaign.strategy == EXHAUSTIVE
    rounds = used(surveyed, Surveyor).rounds
    return max(one.result.steps for one in played), interleavings(rounds, campaign.kills) if asked else None


def _killing(plain: Request, kills: int) -> Iterator[Request]:
    for point in SEARCHED_CRASH_POINTS if kills else ():
        yield replace(plain, workload=replace(plain.workload, faults=(FaultSpec("kill", point),)))
