"""A workload, a design or an invariant, explained on a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from simrunner.config import escapes
from simrunner.model.design import Design, OrderColumn
from simrunner.model.workload import FaultSpec, Workload
from simrunner.report.page import Page


def workload_page(workload: Workload) -> Page:
    """Return what a workload asks, who takes part, what goes wrong, and what must hold."""
    fixture = workload.fixture
    page = title_page("workload", workload.name, workload.title)
    page.add(" ".join(workload.question.split()), "")
    page.add(
        _facts(
            ("file", workload.path),
            ("jobs", f"{fixture.jobs}" + (f", and {fixture.backlog} behind them" if fixture.backlog else "")),
            ("lease", f"{workload.lease_ms} ms; a claim takes up to {workload.batch}"),
            ("attempts", f"{workload.max_attempts} at most, {workload.retry_delay_ms} ms between them"),
            *(_script(workload) if workload.script else _rounds(workload)),
            ("cohort", "the jobs of the fixture" if workload.cohort == "seed" else "all jobs"),
            ("judges", ", ".join(workload.judges)),
            ("must reach", ", ".join(workload.must_exercise) or "nothing in particular"),
            *(("control", f"{control.design} must violate {control.violates}") for control in workload.controls),
        )
    )
    return page


def _script(workload: Workload) -> Iterable[tuple[str, str]]:
    actors = dict.fromkeys(step.actor for step in workload.script if step.actor is not None)
    yield "steps", f"{len(workload.script)}, always in the same order, by {', '.join(actors)}"
    yield from (("", step.says) for step in workload.script if step.says)


def _rounds(workload: Workload) -> Iterable[tuple[str, str]]:
    actors, safety, liveness = workload.actors, workload.safety, workload.liveness
    producers = [f"{producer.jobs_per_round} jobs a round, priority {producer.priority}" for producer in actors.producers]
    yield "workers", str(actors.workers)
    yield "producers", "; ".join(producers) or "none"
    yield "recoverers", str(actors.recoverers)
    yield "ghost", f"replays {', '.join(actors.ghost_operations)} of dead workers" if actors.ghost_operations else "none"
    yield "safety", f"{safety.rounds} rounds, {safety.round_ms} ms apart; faults strike"
    yield "liveness", f"{liveness.rounds} rounds at most, {liveness.round_ms} ms apart; no faults"
    yield "faults", "; ".join(map(_fault, workload.faults)) or "none"
    yield "strategy", workload.strategy


def design_page(design: Design) -> Page:
    """Return what a design is, promises and offers, of a mutant what must be found, and what the virtual clock cannot reach."""
    promises = design.promises
    page = title_page("design", design.name, design.title)
    page.add(
        _facts(
            ("folder", design.folder),
            ("origin", design.origin),
            ("ownership", f"{design.ownership.value}, isolation {design.isolation}"),
            *(("connection", f"{name}: {', '.join(operations)}") for name, operations in design.connections.items()),
            ("order", ", ".join(map(_column, promises.order)) or "none declared"),
            ("operations", ", ".join(design.operations)),
            ("promises", ", ".join(sorted(promises.invariants))),
            *_expectation(design),
            *(("beware", escape) for escape in escapes(design)),
        )
    )
    return page


def invariant_page(
    name: str, title: str, meaning: str, *, needs_operation: str | None, promised_by: Sequence[str], judged_by: Sequence[str]
) -> Page:
    """Return what an invariant means, what it needs, and who promises and who judges it."""
    page = title_page("invariant", name, title)
    if meaning:
        page.add(*[" ".join(paragraph.split()) for paragraph in meaning.split("\n\n")], "")
    page.add(
        _facts(
            ("needs", "nothing but a history" if needs_operation is None else f"the operation {needs_operation}"),
            ("promised by", ", ".join(promised_by) or "no design that is found here"),
            ("judged by", ", ".join(judged_by) or "no workload that is found here"),
        )
    )
    return page


def title_page(kind: str, name: str, title: str) -> Page:
    """Return the page of something, with its title only."""
    return Page(Text(f"{kind} {name}: {title}", "bold"), "")


def _expectation(design: Design) -> Iterable[tuple[str, str]]:
    if design.expects_root_cause is not None:
        yield "must find", f"{design.expects_root_cause} as the root cause"
        yield "may find", ", ".join(sorted(design.allows_consequences)) or "nothing else"


def _fault(fault: FaultSpec) -> str:
    place = fault.crash_point or fault.at
    where = f" at {place}" if place else ""
    whom = f" of {fault.actor}" if fault.actor else ""
    on = f" on its connection {fault.connection}" if fault.connection else ""
    lasts = f" for {fault.rounds} rounds" if fault.rounds else ""
    return f"{fault.kind}{whom}{on}{where}{lasts}" + (f", {fault.times} times" if fault.times > 1 else "")


def _column(column: OrderColumn) -> str:
    return f"{column.column} desc" if column.descending else column.column


def _facts(*facts: tuple[str, str]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for name, value in facts:
        table.add_row(name, value)
    return table
