"""Which keys of a `[[faults]]` go with its kind: a key that a kind does not know is a mistake, not a wish to be ignored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from simrunner.faults.fault import ALWAYS, PLACE
from simrunner.faults.registry import FAULTS
from simrunner.model.workload import FaultSpec


def mistakes(spec: FaultSpec, mode: str) -> Iterator[tuple[str, str]]:
    """Yield (key, what is wrong) of a fault whose kind is known; `mode` is stepped or rounds."""
    fault = FAULTS[spec.kind]
    takes = (*ALWAYS, *PLACE, *fault.needs, *fault.takes)
    given = [field.name for field in fields(spec) if getattr(spec, field.name) != field.default]
    for key in given:
        if key not in takes:
            yield key, f"{spec.kind} takes no {key}; it takes {', '.join(takes)}"
    for key in fault.needs:
        if key not in given:
            yield "kind", f"{spec.kind} needs {key}"
    if spec.at is not None and not fault.stands_at(spec.at):
        yield "at", f"{spec.kind} strikes a statement that it could change something in; not {spec.at!r}, but one such as claim:1"
    if spec.crash_point is not None and spec.at is not None:
        yield "at", "a fault strikes at a crash point or at a step: leave out crash_point or at"
    if mode == "rounds" and not fault.in_rounds_mode:
        able = ", ".join(name for name, other in FAULTS.items() if other.in_rounds_mode)
        yield "kind", f"{spec.kind} cannot strike where claims race: leave --mode rounds away. There, only: {able}"
