"""Where the schedules of a campaign come from: each is a request of its own, made from the campaign's and its number."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from simrunner.faults.fault import CONNECTION
from simrunner.faults.registry import FAULTS
from simrunner.model.draws import stream_of
from simrunner.model.operations import CRASH_POINTS
from simrunner.model.tape import KILL
from simrunner.model.workload import FaultSpec
from simrunner.runtime.actors import lanes_of
from simrunner.runtime.performance import Request
from simrunner.search.campaign import EXHAUSTIVE, Campaign
from simrunner.search.fitting import fitted
from simrunner.store.schedules import ScheduleResult
from simrunner.strategies.exhaustive import ExhaustiveDecider, next_prefix


class Source(Protocol):
    """Makes the schedules of a campaign, one by one."""

    def request(self, number: int) -> Request | None:
        """The schedule of a number; None: there is none any more."""

    def ended(self, result: ScheduleResult) -> None:
        """Take note of a schedule that was run."""


class Seeded:
    """Every schedule has a seed of its own, and faults drawn from it swarm-style: see `swarm`."""

    def __init__(self, base: Request, kills: int, kinds: Sequence[str] = (KILL,)) -> None:
        self._base = base
        self._kills = kills
        self._kinds = kinds

    def request(self, number: int) -> Request:
        """See Source."""
        base = self._base
        seed = seed_of(base.seed, number)
        workload = fitted(replace(base.workload, faults=self._faults(seed)), base.design)
        depth = 1 + number % base.options.depth
        return replace(base, seed=seed, workload=workload, options=replace(base.options, depth=depth))

    def _faults(self, seed: int) -> tuple[FaultSpec, ...]:
        return swarm(seed, self._kills, self._kinds, tuple(self._base.design.connections))

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
        return Seeded(base, campaign.kills, campaign.faults)
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


def swarm(seed: int, kills: int, kinds: Sequence[str], connections: Sequence[str] = ()) -> tuple[FaultSpec, ...]:
    """Draw the faults of one schedule: up to `kills` kills, each number equally likely, and each other kind in every other one.

    That every schedule lacks some kinds finds more than all kinds in all of them: a fault may hide what another would show
    (Groce, Zhang, Eide, Chen, Regehr: Swarm Testing, ISSTA 2012). Each kind has a stream of its own, so that one more kind does
    not move the others. Where workers have further `connections`, what strikes one of theirs strikes the first or one of those.
    """
    draws = stream_of(seed, "swarm")
    number = int(draws.random() * (kills + 1)) if KILL in kinds else 0
    killed = tuple(FAULTS[KILL].drawn(draws) for _ in range(number))
    return killed + tuple(
        drawn for kind in FAULTS if kind in kinds and kind != KILL for drawn in _either(seed, kind, connections)
    )


def _either(seed: int, kind: str, connections: Sequence[str]) -> Iterator[FaultSpec]:
    draws = stream_of(seed, f"swarm/{kind}")
    if draws.random() < 0.5:
        spec = FAULTS[kind].drawn(draws)
        aimed = connections and CONNECTION in FAULTS[kind].takes
        yield replace(spec, connection=(None, *connections)[int(draws.random() * (1 + len(connections)))]) if aimed else spec
