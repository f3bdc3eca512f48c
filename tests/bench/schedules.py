"""Schedules a second of simrunner's own coordinator, every event recorded, and what a step that is blocked costs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple

from simrunner.model.workload import FaultSpec
from simrunner.runtime import database
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.performance import Request
from simrunner.search.campaign import EXHAUSTIVE, Campaign, request_of
from simrunner.search.coordinator import Theatre
from simrunner.search.explorer import Played
from simrunner.search.play import server_for
from simrunner.search.sources import Source, source_of
from simrunner.store.schedules import Ledger

HERE = Path(__file__).parent
WARM_UP = 4
"""Schedules that are not counted: sessions and caches are cold."""
_POINTS = ("before-claim", "after-claim-before-commit", "after-complete-before-commit")


class Rate(NamedTuple):
    """What was run."""

    schedules: int
    seconds: float
    blocked_us: tuple[int, ...] = ()
    """For each statement that was blocked: the time from sending it until it was known to be."""

    @property
    def per_second(self) -> float:
        """Schedules a second."""
        return self.schedules / self.seconds


class Asked(NamedTuple):
    """A schedule that is to be run."""

    number: int
    request: Request
    source: Source | None = None
    """Where it comes from, if that has to know what became of it."""


def interleavings(cluster: Cluster, name: str, times: int) -> Rate:
    """Run all 20 interleavings of a design of this folder, `times` times over."""
    campaign = _campaign(name, EXHAUSTIVE, 0)
    base = request_of(campaign)

    def asked() -> Iterator[Asked]:
        for _ in range(times):
            source, number = source_of(campaign, base, ()), 0
            while (request := source.request(number)) is not None:
                yield Asked(number, request, source)
                number += 1

    return _timed(cluster, base, asked())


def with_a_kill(cluster: Cluster, schedules: int) -> Rate:
    """Run schedules of the reference's claim and completion in each of which one worker is killed."""
    base = request_of(_campaign("claim-and-complete", "random", 1))

    def asked() -> Iterator[Asked]:
        for number in range(schedules):
            faults = (FaultSpec("kill", _POINTS[number % len(_POINTS)]),)
            request = replace(base, seed=number, workload=replace(base.workload, faults=faults))
            yield Asked(number, request)

    return _timed(cluster, base, asked(), spares=1)


def with_a_kill_side_by_side(coordinators: int, schedules: int, major: int) -> float:
    """Schedules a second of several coordinators together, each in a process with a server of its own."""
    children = [_in_a_child(lambda: _alone(schedules, major)) for _ in range(coordinators)]
    rates = []
    for pid, reader in children:
        with os.fdopen(reader) as pipe:
            rates.append(float(pipe.read()))
        os.waitpid(pid, 0)
    return sum(rates)


def _alone(schedules: int, major: int) -> float:
    with server_for(None, major) as cluster:
        return with_a_kill(cluster, schedules).per_second


def _in_a_child(work: Callable[[], float]) -> tuple[int, int]:
    """Do it in a child. Returns its process id and where it tells its result."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reader)
            os.write(writer, str(work()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    return pid, reader


def _timed(cluster: Cluster, base: Request, asked: Iterator[Asked], spares: int = 0) -> Rate:
    blocked: list[int] = []
    schedules, began = -WARM_UP, 0.0
    with (
        TemporaryDirectory() as folder,
        database.create(cluster, "bench") as own,
        closing(Theatre(own, base, spares)) as theatre,
        closing(Ledger(Path(folder), 0, 0)) as ledger,
    ):
        for one in asked:
            if schedules == 0:
                began = perf_counter()
            played = theatre.play(one.request, one.number)
            ledger.append(played.result, played.memory.events)
            if played.result.verdict != "valid":
                raise AssertionError(f"a schedule is {played.result.verdict}: {played.result.error}")
            if one.source is not None:
                one.source.ended(played.result)
            if len(played.result.crash_points) != spares:
                raise AssertionError(f"a schedule has {len(played.result.crash_points)} kills, not {spares}")
            blocked += _blocked_us(played)
            schedules += 1
        return Rate(schedules, perf_counter() - began, tuple(blocked))


def _blocked_us(played: Played) -> Iterator[int]:
    sent: dict[str | None, int] = {}
    for event in played.memory.events:
        if event.kind == "sent":
            sent[event.actor] = event.wall_time or 0
        elif event.kind == "blocked":
            yield (event.wall_time or 0) - sent[event.actor]


def _campaign(name: str, strategy: str, kills: int) -> Campaign:
    return Campaign(str(HERE / f"{name}.toml"), str(HERE / name), {}, strategy=strategy, kills=kills)
