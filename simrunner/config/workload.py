"""Loads a workload: one TOML file and the settings that the user changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import structs

from simrunner.config.document import Document, line_of
from simrunner.config.hints import suggestion
from simrunner.config.lookup import Entry, Library, entries, find, read_text
from simrunner.config.place import shown
from simrunner.config.script_steps import check_step
from simrunner.config.settings import changed
from simrunner.config.workload_file import ScriptEntry, WorkloadFile
from simrunner.errors import WorkloadError
from simrunner.limits import LIMITS
from simrunner.model.operations import CRASH_POINTS, FENCED_WRITES
from simrunner.model.workload import (
    Actors,
    Control,
    Expectation,
    Experiment,
    FaultSpec,
    Fixture,
    Liveness,
    Producer,
    Safety,
    ScriptStep,
    Workload,
)


def _names_in(root: Path) -> list[str]:
    return sorted(file.relative_to(root).with_suffix("").as_posix() for file in root.rglob("*.toml"))


def _file_of(root: Path, name: str) -> Path:
    # in the working directory itself (root is Path()) only a written-out file name is a path
    return root / (name if name.endswith(".toml") or root == Path() else f"{name}.toml")


WORKLOADS = Library("workload", "workloads", WorkloadError, _names_in, _file_of)


def list_workloads() -> list[Entry]:
    """Return the name and title of each workload that can be named, by name. A title that cannot be read says why."""
    return entries(WORKLOADS)


def load_workload(name_or_path: str, settings: Mapping[str, str] = {}) -> Workload:
    """Read and check a workload by name or path, with single values replaced by `settings` (key -> text).

    Raises WorkloadError for every mistake in the file or in a setting.
    """
    name, file = find(WORKLOADS, name_or_path)
    document = Document(shown(file), read_text(file, WorkloadError), WorkloadError)
    data = document.parse()
    document.convert(data, WorkloadFile)  # the file must be right before anything in it is changed
    data, applied = changed(data, settings, WorkloadFile)
    shape = document.convert(data, WorkloadFile)
    _check(document, shape)
    return _workload(name, document, shape, tuple(applied.items()))


def place_of_key(workload: Workload, *path: str | int) -> str:
    """Return `file:line` of a key of a workload that was loaded, e.g. of ("faults", 0, "rounds")."""
    line = line_of(Path(workload.path).read_text(encoding="utf-8"), path)
    return workload.path if line is None else f"{workload.path}:{line}"


def _workload(name: str, document: Document, shape: WorkloadFile, settings: tuple[tuple[str, str], ...]) -> Workload:
    actors = structs.asdict(shape.actors) if shape.actors else {"workers": 0, "recoverers": 0}
    none = {"rounds": 0, "round_ms": 0}
    producers = tuple(Producer(**structs.asdict(producer)) for producer in shape.producers)
    return Workload(
        name=name,
        title=shape.title,
        question=shape.question.strip(),
        path=document.place,
        sha256=_sha256(document.text, settings),
        strategy=shape.strategy,
        fixture=Fixture(**structs.asdict(shape.fixture)),
        actors=Actors(producers=producers, **actors),
        safety=Safety(**(structs.asdict(shape.safety) if shape.safety else none)),
        liveness=Liveness(**(structs.asdict(shape.liveness) if shape.liveness else none)),
        faults=tuple(FaultSpec(**structs.asdict(fault)) for fault in shape.faults),
        script=tuple(_script_step(entry) for entry in shape.script),
        experiment=Experiment(**structs.asdict(shape.experiment)) if shape.experiment else None,
        controls=tuple(Control(**structs.asdict(control)) for control in shape.controls),
        settings=settings,
        **structs.asdict(shape.policy),
        **structs.asdict(shape.judge),
    )


def _script_step(entry: ScriptEntry) -> ScriptStep:
    values = structs.asdict(entry)
    expect = values.pop("expect")
    return ScriptStep(**values, expect=None if expect is None else Expectation(**structs.asdict(expect)))


def _sha256(text: str, settings: tuple[tuple[str, str], ...]) -> str:
    changes = "".join(f"\n--set {key}={value}" for key, value in settings)
    return hashlib.sha256((text + changes).encode()).hexdigest()


def _check(document: Document, shape: WorkloadFile) -> None:
    if shape.fixture.jobs + shape.fixture.backlog > LIMITS.jobs_max:
        raise document.error(("fixture", "backlog"), f"fixture: jobs and backlog are more than {LIMITS.jobs_max} together")
    _check_course(document, shape)
    if shape.actors is not None:
        _each(document, "actors", "ghost_operations", shape.actors.ghost_operations, FENCED_WRITES)
    _each(document, "judge", "must_exercise", shape.judge.must_exercise, shape.judge.judges)
    for place, fault in enumerate(shape.faults):
        if fault.crash_point is not None and fault.crash_point not in CRASH_POINTS:
            what = f"faults[{place}].crash_point: no crash point {fault.crash_point!r}"
            raise document.error(("faults", place, "crash_point"), f"{what}; {suggestion(fault.crash_point, CRASH_POINTS)}")


def _check_course(document: Document, shape: WorkloadFile) -> None:
    """A workload plays rounds, and then needs [actors], [safety] and [liveness], or takes the steps of a script."""
    tables = {"actors": shape.actors, "safety": shape.safety, "liveness": shape.liveness}
    if not shape.script:
        missing = [name for name, table in tables.items() if table is None]
        if missing:
            raise document.error((missing[0],), f"[{missing[0]}] is missing; a workload without [[script]] plays rounds")
        return
    present = [name for name, table in tables.items() if table is not None] + ["faults"] * bool(shape.faults)
    if present:
        raise document.error((present[0],), f"[{present[0]}] has no meaning beside [[script]], whose steps say it all")
    for place, entry in enumerate(shape.script):
        check_step(document, place, entry)


def _each(document: Document, table: str, key: str, values: Iterable[str], allowed: Iterable[str]) -> None:
    for value in values:
        if value not in allowed:
            raise document.error(
                (table, key), f"{table}.{key}: {value!r} is not among those allowed here; {suggestion(value, allowed)}"
            )
