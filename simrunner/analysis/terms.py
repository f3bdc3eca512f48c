"""The object `terms` of run.json: what the workload asked and what a pass requires, so that a stored run is judged alone."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from simrunner.errors import RunFolderError
from simrunner.model.workload import FaultSpec, Workload


@dataclass(frozen=True, slots=True)
class Terms:
    """What a run is judged by besides its context."""

    title: str
    question: str
    judges: tuple[str, ...]
    must_exercise: tuple[str, ...]
    workers: int
    faults: tuple[tuple[str, str | None, str | None, int], ...]
    """(kind, crash point, actor, times) as declared."""
    min_backlog: int

    def fault_specs(self) -> tuple[FaultSpec, ...]:
        """The declared faults."""
        return tuple(FaultSpec(*fault) for fault in self.faults)


def terms_document(workload: Workload) -> dict[str, Any]:
    """Return what run.json keeps under `terms`: plain JSON values."""
    return asdict(
        Terms(
            workload.title,
            workload.question,
            workload.judges,
            workload.must_exercise,
            workload.actors.workers,
            tuple((fault.kind, fault.crash_point, fault.actor, fault.times) for fault in workload.faults),
            workload.min_backlog,
        )
    )


def terms_from(document: object) -> Terms:
    """Return the terms that run.json keeps. Raises RunFolderError."""
    try:
        return msgspec.convert(document, Terms)
    except msgspec.ValidationError as error:
        raise RunFolderError(f"run.json's terms are damaged or missing ({error})") from error
