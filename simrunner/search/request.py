"""From names to a checked request: everything that can be found wrong before a server is started."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from simrunner.checkers.registry import CHECKERS
from simrunner.checkers.undecided import UNDECIDED
from simrunner.config import load_design, load_workload, place_of_key
from simrunner.config.hints import suggestion
from simrunner.errors import DesignError, InputError, WorkloadError
from simrunner.faults.fault import CONNECTION
from simrunner.faults.keys import mistakes
from simrunner.faults.registry import FAULTS
from simrunner.model.design import Design
from simrunner.model.tape import SERVER_CRASH
from simrunner.model.workload import Workload
from simrunner.runtime.actors import lanes_of
from simrunner.runtime.coordinator import Request
from simrunner.search.fitting import fitted
from simrunner.strategies.registry import STRATEGIES

DECIDED = tuple(checker.name for checker in CHECKERS)
KNOWN = (*DECIDED, *UNDECIDED)
"""Names of all invariants."""
OWN_SERVER_ALONE = f"{SERVER_CRASH} needs a server of simrunner's own, which it may crash: leave --dsn away"


def prepare(
    workload_name: str, design_name: str, settings: Mapping[str, str], *, seed: int, mode: str, strategy: str | None
) -> Request:
    """Load and check a design and a workload. A strategy of None is the workload's own.

    Raises DesignError, WorkloadError, or InputError for an unknown strategy.
    """
    design = load_design(design_name)
    workload = load_workload(workload_name, settings)
    check_design(design)
    check_workload(workload)
    check_faults(workload, mode)
    check_connections(workload, design)
    if strategy is not None and strategy not in strategy_names():
        raise InputError(f"no strategy {strategy!r}; {suggestion(strategy, strategy_names())}", place="--strategy")
    return Request(design, fitted(workload, design), seed, mode, strategy or workload.strategy)


def strategy_names() -> tuple[str, ...]:
    """Return the names of all strategies."""
    return tuple(entry.name for entry in STRATEGIES)


def check_design(design: Design) -> None:
    """Raise DesignError for an invariant that does not exist."""
    expected = () if design.expects_root_cause is None else (design.expects_root_cause,)
    for key, names in (
        ("promises.invariants", design.promises.invariants),
        ("expects.root_cause", expected),
        ("expects.consequences", design.allows_consequences),
    ):
        for name in _unknown(names, KNOWN):
            place = Path(design.folder) / "design.toml"
            raise DesignError(f"{key}: no invariant {name!r}; {suggestion(name, KNOWN)}", place=place)


def check_workload(workload: Workload) -> None:
    """Raise WorkloadError for an invariant that nothing decides, and for an unknown strategy, fault or actor."""
    actors = tuple(lane.actor for lane in lanes_of(workload))
    targets = tuple(fault.actor for fault in workload.faults if fault.actor is not None)
    controlled = tuple(control.violates for control in workload.controls if control.violates is not None)
    expected = tuple(step.expect for step in workload.script if step.expect is not None)
    conditions = tuple(name for expect in expected for name in (expect.needs, expect.unless) if name is not None)
    holders = (name for expect in expected for name in (expect.blocked_by or "").split(","))
    named = tuple(name for name in (*(step.claim_of for step in workload.script), *holders) if name)
    for key, noun, names, known in (
        ("judge.judges", "invariant", workload.judges, DECIDED),
        ("judge.must_exercise", "invariant", workload.must_exercise, DECIDED),
        ("strategy", "strategy", (workload.strategy,), strategy_names()),
        ("faults.kind", "fault", tuple(fault.kind for fault in workload.faults), tuple(FAULTS)),
        ("faults.actor", "actor", targets, actors),
        ("controls.violates", "invariant", controlled, DECIDED),
        ("script.expect", "invariant", conditions, KNOWN),
        ("script", "actor", named, actors),
    ):
        for name in _unknown(names, known):
            later = "this version has no checker of" if name in UNDECIDED else f"no {noun}"
            raise WorkloadError(f"{key}: {later} {name!r}; {suggestion(name, known)}", place=workload.path)


def check_faults(workload: Workload, mode: str) -> None:
    """Raise WorkloadError for a key that does not go with a fault's kind, or a fault that the mode cannot have."""
    for number, spec in enumerate(workload.faults):
        for key, what in mistakes(spec, mode):
            raise WorkloadError(f"faults[{number}].{key}: {what}", place=place_of_key(workload, "faults", number, key))


def check_connections(workload: Workload, design: Design) -> None:
    """Raise WorkloadError for a fault that is aimed at a connection which the design does not name, or which its actor lacks."""
    workers = tuple(lane.actor for lane in lanes_of(workload) if lane.program == "worker")
    for number, spec in enumerate(workload.faults):
        if spec.connection is None:
            continue
        place = place_of_key(workload, "faults", number, CONNECTION)
        key = f"faults[{number}].{CONNECTION}"
        if spec.connection not in design.connections:
            known = suggestion(spec.connection, design.connections)
            raise WorkloadError(f"{key}: workers of {design.name} have no connection {spec.connection!r}; {known}", place=place)
        if spec.actor not in (None, *workers):
            raise WorkloadError(f"{key}: {spec.actor} is no worker and has one connection: leave it out", place=place)


def check_server(workload: Workload, dsn: str | None) -> None:
    """Raise WorkloadError for a fault that somebody else's server cannot have: only one of our own may be crashed."""
    for number, spec in enumerate(workload.faults):
        if dsn is not None and spec.kind == SERVER_CRASH:
            place = place_of_key(workload, "faults", number, "kind")
            raise WorkloadError(f"faults[{number}].kind: {OWN_SERVER_ALONE}", place=place)


def _unknown(names: Iterable[str], known: tuple[str, ...]) -> list[str]:
    return sorted(name for name in names if name not in known)
