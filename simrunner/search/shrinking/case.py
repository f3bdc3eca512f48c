"""A case: a schedule that fails and the size of the workload in which it does. Smaller cases come from editing it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from simrunner.model.workload import Workload
from simrunner.runtime.actors import lanes_of
from simrunner.strategies.deviating import Deviation


class Size(NamedTuple):
    """How large the workload is. Every field is an integer and smaller is simpler."""

    workers: int
    jobs: int
    backlog: int
    producers: tuple[int, ...]
    """Jobs per round of each."""
    recoverers: int
    ghosts: bool
    """Late writes of dead workers are replayed."""
    rounds: int
    """Of the safety phase."""
    liveness_rounds: int

    @property
    def all_jobs(self) -> int:
        """All jobs that there will be."""
        return self.jobs + self.backlog + self.rounds * sum(self.producers)

    @property
    def cost(self) -> tuple[int, ...]:
        """What is compared, the most important first."""
        others = self.recoverers + self.ghosts + sum(1 for jobs in self.producers if jobs)
        return (self.workers, self.all_jobs, self.rounds, others, self.liveness_rounds)


@dataclass(frozen=True, slots=True)
class Case:
    """What one try consists of, besides design, seed and the workload's other settings."""

    size: Size
    coalesced: bool
    deviations: tuple[Deviation, ...]

    @property
    def faults(self) -> tuple[Deviation, ...]:
        """Its faults."""
        return tuple(deviation for deviation in self.deviations if deviation.is_fault)

    @property
    def orders(self) -> tuple[Deviation, ...]:
        """Its deviations from round-robin that are no faults."""
        return tuple(deviation for deviation in self.deviations if not deviation.is_fault)

    @property
    def cost(self) -> tuple[object, ...]:
        """What is made small: deviations, faults, workers, jobs, then how early and how short everything is."""
        return (len(self.orders), len(self.faults), *self.size.cost, not self.coalesced, *self._places())

    def _places(self) -> tuple[tuple[int, int], ...]:
        return tuple((deviation.round, deviation.place) for deviation in self.deviations)


def size_of(workload: Workload) -> Size:
    """Return the size of a workload. Of a scripted one nothing can be taken away."""
    actors = workload.actors
    return Size(
        actors.workers,
        workload.fixture.jobs,
        workload.fixture.backlog,
        tuple(producer.jobs_per_round for producer in actors.producers),
        actors.recoverers,
        bool(actors.ghost_operations),
        workload.safety.rounds,
        workload.liveness.rounds,
    )


def settings_for(size: Size, workload: Workload) -> dict[str, str]:
    """Return the settings that give a workload another size: its own and the values that differ."""
    changed = dict(workload.settings)
    old = size_of(workload)
    values = (
        ("actors.workers", old.workers, size.workers),
        ("fixture.jobs", old.jobs, size.jobs),
        ("fixture.backlog", old.backlog, size.backlog),
        ("actors.recoverers", old.recoverers, size.recoverers),
        ("safety.rounds", old.rounds, size.rounds),
        ("liveness.rounds", old.liveness_rounds, size.liveness_rounds),
        *((f"producers.{n}.jobs_per_round", *pair) for n, pair in enumerate(zip(old.producers, size.producers, strict=True))),
    )
    changed.update((key, str(new)) for key, then, new in values if then != new)
    if old.ghosts and not size.ghosts:
        changed["actors.ghost_operations"] = ""
    return changed


def fewest_liveness_rounds(workload: Workload, size: Size) -> int:
    """Rounds that any design needs at the end: for a lease to lapse, for its recovery, and for a claim of every job.

    With fewer, a job would be lost because the run was too short, which is another failure.
    """
    lapse = -(-workload.lease_ms // max(workload.liveness.round_ms, 1))
    return min(workload.liveness.rounds, lapse + 2 + size.all_jobs)


def fitted_to(case: Case, size: Size, workload: Workload) -> Case:
    """Return the case in another size: workers that are gone are replaced by those that stay, late faults come earlier."""
    bounded = size._replace(liveness_rounds=max(size.liveness_rounds, fewest_liveness_rounds(workload, size)))
    workers = [lane.actor for lane in lanes_of(workload) if lane.program == "worker"]
    moved = (_moved(deviation, workers, bounded) for deviation in case.deviations)
    return replace(case, size=bounded, deviations=tuple(moved))


def with_deviations(case: Case, deviations: Iterable[Deviation]) -> Case:
    """Return the case with other deviations, in the order in which they matter.

    Faults of a round keep theirs: who is stopped at a place before another fault strikes him there is spared it until he goes on.
    """
    return replace(case, deviations=tuple(sorted(deviations, key=_place)))


def _place(one: Deviation) -> tuple[int, int, str, str]:
    return (one.round, one.place, "", "") if one.is_fault else (one.round, one.place, one.kind, one.actor)


def _moved(deviation: Deviation, workers: Sequence[str], size: Size) -> Deviation:
    actor, round_ = deviation.actor, deviation.round
    if actor in workers[size.workers :]:
        actor = workers[workers.index(actor) % size.workers]
    return deviation._replace(actor=actor, round=min(round_, size.rounds) if deviation.is_fault else round_)
