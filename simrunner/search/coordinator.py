"""One coordinator of a campaign: a server and a database of its own, and schedules as its parent hands them out."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from time import perf_counter_ns

from msgspec import structs

from simrunner.errors import Divergence, ServerError
from simrunner.runtime import database, libpq
from simrunner.runtime.actors import lanes_of
from simrunner.runtime.database import Database
from simrunner.runtime.performance import Request
from simrunner.runtime.stage import Stage
from simrunner.search.campaign import Campaign
from simrunner.search.explorer import Memory, Played, play, unknown
from simrunner.search.findings import keep
from simrunner.search.measuring import measure
from simrunner.search.play import server_for
from simrunner.search.replay import first_difference
from simrunner.search.sources import source_of
from simrunner.search.talk import Begin, Channel, Done, Exhausted, Measure, Measured, Ready, Run
from simrunner.store.schedules import Ledger, ScheduleResult

BROKEN_IN_A_ROW_MAX = 3
"""So many schedules in a row that the server did not let finish mean that it never will."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a coordinator knows before it begins; it reaches it through the fork."""

    number: int
    campaign: Campaign
    base: Request
    dsn: str | None
    done: Sequence[ScheduleResult]
    closes: tuple[int, ...] = ()
    """Descriptors of the parent that it gives up."""


class Theatre:
    """A database and the stage on it, made anew when a schedule has left it of no use.

    `spares` processes are forked ahead, for those that a schedule kills.
    """

    def __init__(self, own: Database, base: Request, spares: int) -> None:
        self.cluster = own.cluster
        self._processes = len(lanes_of(base.workload)) + spares
        self._own = own
        self._base = base
        self._stage: Stage | None = None
        self._broken = 0
        self._used = False

    def play(self, request: Request, number: int) -> Played:
        """Run a schedule. What the server did not let finish is unknown. Raises ServerError if it never does or is gone."""
        began_ns = perf_counter_ns()
        try:
            played = play(self._ready(), request, number)
        except ServerError as error:
            self._broken += 1
            if self._broken == BROKEN_IN_A_ROW_MAX or not self._answers():
                raise
            memory = Memory()
            played = Played(unknown(request, number, memory, str(error), began_ns), request, memory, None, None)
        else:
            self._broken = 0
        if played.final is None:
            self.close()
        return played

    def close(self) -> None:
        """End the stage's processes."""
        if self._stage is not None:
            self._stage.close()
            self._stage = None

    def _ready(self) -> Stage:
        if self._stage is None:
            if self._used:
                self._own.recreate()
            self._used = True
            base = self._base
            self._stage = Stage(self._own, base.design, base.workload, keep=True, coalesce=base.coalesce)
        self._stage.stock(self._processes)
        return self._stage

    def _answers(self) -> bool:
        try:
            libpq.connect(self._own.conninfo("look")).finish()
        except ServerError:
            return False
        return True


def serve(one: Assignment, channel: Channel) -> None:
    """Do what the parent says until it says no more. Raises SimrunnerError, also Divergence when a recheck differs."""
    with ExitStack() as stack:
        cluster = stack.enter_context(server_for(one.dsn, one.campaign.postgres))
        own = stack.enter_context(database.create(cluster, f"explore-{one.number}"))
        theatre = stack.enter_context(closing(Theatre(own, one.base, one.campaign.kills)))
        channel.send(Ready(cluster.major, cluster.version_text))
        _converse(one, theatre, channel, stack)


def _converse(one: Assignment, theatre: Theatre, channel: Channel, stack: ExitStack) -> None:
    part: Part | None = None
    while (message := channel.receive()) is not None:
        if isinstance(message, Measure):
            channel.send(Measured(*measure(one.campaign, one.base, theatre.play)))
        elif isinstance(message, Begin):
            part = Part(one, theatre, message)
            stack.callback(part.close)
        elif isinstance(message, Run) and part is not None:
            result = part.run(message)
            channel.send(Exhausted() if result is None else Done(result))


class Part:
    """The share of a campaign that one coordinator runs."""

    def __init__(self, one: Assignment, theatre: Theatre, begin: Begin) -> None:
        base = one.base
        self._theatre = theatre
        self._recheck = one.campaign.recheck
        self._base = replace(base, options=replace(base.options, steps=begin.steps))
        self._source = source_of(one.campaign, self._base, one.done)
        self._folder = Path(begin.folder)
        self._started = datetime.fromisoformat(begin.started)
        self._ledger = Ledger(self._folder, one.number, begin.session)

    def run(self, order: Run) -> ScheduleResult | None:
        """Run one schedule and keep it; None: there is none any more. Raises Divergence when a recheck differs."""
        request = self._source.request(order.number)
        if request is None:
            return None
        played = self._play(request, order.number)
        cause = played.result.root_cause
        if cause is not None and cause not in order.known:
            keep(played, self._theatre.cluster, self._folder, self._started)
        self._ledger.append(played.result, played.memory.events)
        self._source.ended(played.result)
        return played.result

    def close(self) -> None:
        """Close the ledger."""
        self._ledger.close()

    def _play(self, request: Request, number: int) -> Played:
        if not self._recheck:
            return self._theatre.play(request, number)
        again = self._source.request(number) or request  # a decider is used up by a run
        played, second = self._theatre.play(request, number), self._theatre.play(again, number)
        if played.verdict is not None and second.verdict is not None:  # else somebody died by himself: luck, and told as such
            _compare(played, second)
        taken_us = played.result.duration_us + second.result.duration_us
        return played._replace(result=structs.replace(played.result, duration_us=taken_us))


def _compare(one: Played, other: Played) -> None:
    difference = first_difference(one.memory.events, other.memory.events)
    if difference is not None:
        raise Divergence(
            f"schedule {one.result.schedule} (seed {one.result.seed}) gave two histories when it was run twice, from event"
            f" {difference.seq} on: {difference.words}. Something decides there that design, workload and seed do not fix"
        )
