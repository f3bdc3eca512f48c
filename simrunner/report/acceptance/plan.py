"""From the playbook to checked runs: what is run for each experiment, and what the design lacks. No pyarrow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from msgspec import Meta

from simrunner.model.design import Design
from simrunner.model.operations import OPERATIONS, is_offered
from simrunner.model.workload import Experiment as Prose
from simrunner.model.workload import Workload
from simrunner.report.acceptance.playbook import ROUNDS, Experiment
from simrunner.runtime.coordinator import Request
from simrunner.search.request import prepare

EXPERIMENTS = "experiments"
"""Folder of the runs, inside the acceptance's own."""
MAIN, CONTROL, COMPARED = "main", "control", "compared"
NO_PROSE = Prose("", "", "", "", "")


@dataclass(frozen=True, slots=True)
class Part:
    """One run of the acceptance, as the accept run's run.json keeps it under `parts`."""

    name: Annotated[str, Meta(pattern=r"^\w[\w.-]*$")]
    """Its folder below `experiments/`."""
    experiment: str
    workload: str
    file: str
    role: str
    """main: the design under test; control: a design that must fail; compared: another design, shown beside."""
    design: str
    mode: str
    violates: str | None
    """What a control must violate."""
    missing: tuple[str, ...]
    """Operations that the experiment needs and the design does not offer: it is not run."""
    title: str
    prose: Prose


@dataclass(frozen=True, slots=True)
class Planned:
    """A part with the request that runs it."""

    part: Part
    request: Request


def plan(design: str, seed: int, playbook: Sequence[Experiment]) -> tuple[Planned, ...]:
    """Return all runs in order, checked. Raises DesignError or WorkloadError for whatever is wrong, before anything runs."""
    return tuple(
        planned
        for experiment in playbook
        for workload in experiment.workloads
        for planned in _runs(experiment, workload, design, seed)
    )


def parts_document(planned: Sequence[Planned]) -> list[dict[str, object]]:
    """Return what run.json keeps under `parts`: plain JSON values."""
    return [asdict(one.part) for one in planned]


def _runs(experiment: Experiment, workload: str, design: str, seed: int) -> Iterator[Planned]:
    """Yield the runs of the design under test, then those of the designs beside it, unless the first cannot be asked."""
    for mode in experiment.modes:
        own = prepare(workload, design, {}, seed=seed, mode=mode, strategy=None)
        missing = tuple(name for name in needed(own.workload) if not is_offered(name, own.design.operations))
        name = workload + (f"--{ROUNDS}" if mode == ROUNDS else "")
        yield Planned(Part(name, role=MAIN, violates=None, missing=missing, **_common(experiment, own)), own)
    for control in () if missing else own.workload.controls:
        beside = prepare(workload, control.design, {}, seed=seed, mode=experiment.modes[0], strategy=None)
        role = COMPARED if control.violates is None else CONTROL
        name = f"{workload}--{_slug(beside.design)}"
        yield Planned(Part(name, role=role, violates=control.violates, missing=(), **_common(experiment, beside)), beside)


def _common(experiment: Experiment, request: Request) -> dict[str, Any]:
    return {
        "experiment": experiment.workload,
        "workload": request.workload.name,
        "file": experiment.file,
        "design": request.design.name,
        "mode": request.mode,
        "title": request.workload.title,
        "prose": request.workload.experiment or NO_PROSE,
    }


def _slug(design: Design) -> str:
    return re.sub(r"[^\w.]+", "-", design.name).strip("-.")


def needed(workload: Workload) -> tuple[str, ...]:
    """Return the operations without which a workload cannot be asked, in the order of the registry.

    Recoverers and ghosts do what the design offers: a design without a recovery is to be seen losing jobs.
    """
    used = {step.do for step in workload.script}
    if workload.actors.producers:
        used.add("enqueue")
    if workload.fixture.backlog:
        used.add("backlog")
    return tuple(name for name in OPERATIONS if name in used)
