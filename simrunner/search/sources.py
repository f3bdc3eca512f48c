"""Where the schedules of a campaign come from: each is a request of its own, made from the campaign's and its number."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from simrunner.model.draws import stream_of
from simrunner.model.operations import CRASH_POINTS, WORKER_CRASH_POINTS
from simrunner.model.workload import FaultSpec
from simrunner.runtime.actors import lanes_of
from simrunner.runtime.performance import Request
from simrunner.search.campaign import EXHAUSTIVE, Campaign
from simrunner.search.fitting import fitted
from simrunner.store.schedules import ScheduleResult
from simrunner.strategies.exhaustive import ExhaustiveDecider, next_prefix

MERGED = ("during-work",)
"""Crash points at which nobody stands in coalesced steps: they are the one before."""
KILL_POINTS = tuple(point for point in WORKER_CRASH_POINTS if point not in MERGED)
"""Where a worker is killed in a campaign."""


class Source(Protocol):
    """Makes the schedules of a campaign, one by one."""

    def request(self, number: int) -> Request | None:
        """The schedule of a number; None: there is none any more."""

    def ended(self, result: ScheduleResult) -> None:
        """Take note of a schedule that was run."""


class Seeded:
    """Every schedule has a seed of its own, and faults drawn from it: swarm-style, none in one of `kills` + 1 schedules."""

    def __init__(self, base: Request, kills: int) -> None:
        self._base = base
        self._kills = kills

    def request(self, number: int) -> Request:
        """See Source."""
        base = self._base
        seed = seed_of(base.seed, number)
        workload = fitted(replace(base.workload, faults=_faults(seed, self._kills)), base.design)
        depth = 1 + number % base.options.depth
        return replace(base, seed=seed, workload=workload, options=replace(base.options, depth=depth))

    def ended(self, result: ScheduleResult) -> None:
        """See Source: the next one does not depend on it."""


class Exhaustive:
    """Depth-first: a schedule's choices follow from those of the one before."""

    def __init__(self, base: Request, kills: int, first: frozenset[str], last: ScheduleResult | None) -> None:
        self._base = replace(base, workload=replace(base.workload, faults=()))
        self._kills = kills
        self._first = first
        self._prefix: list[int] | None = [] if last is None else next_prefix(last.path)

    def request(self, number: int) -> Request | None:
        """See Source."""
        if self._prefix is None:
            return None
        decider = ExhaustiveDecider(self._prefix, frozenset(CRASH_POINTS), self._kills, self._first)
        return replace(self._base, decider=decider)

    def ended(self, result: ScheduleResult) -> None:
        """See Source."""
        self._prefix = next_prefix(result.path)


def source_of(campaign: Campaign, base: Request, done: Sequence[ScheduleResult]) -> Source:
    """Return where the schedules of a campaign come from that goes on behind those that are done."""
    if campaign.strategy != EXHAUSTIVE:
        return Seeded(base, campaign.kills)
    return Exhaustive(base, campaign.kills, going_first(campaign, base), done[-1] if done else None)


def going_first(campaign: Campaign, base: Request) -> frozenset[str]:
    """The actors whose steps an exhaustive search does not interleave."""
    if campaign.recovery:
        return frozenset()
    return frozenset(lane.actor for lane in lanes_of(base.workload) if lane.program == "recoverer")


def seed_of(campaign_seed: int, number: int) -> int:
    """Seed of a campaign's schedule."""
    digest = hashlib.sha256(f"{campaign_seed}/schedule/{number}".encode()).digest()
    return int.from_bytes(digest[:6], "big")


def _faults(seed: int, kills: int) -> tuple[FaultSpec, ...]:
    draws = stream_of(seed, "swarm")
    number = int(draws.random() * (kills + 1))
    return tuple(FaultSpec("kill", KILL_POINTS[int(draws.random() * len(KILL_POINTS))]) for _ in range(number))
