"""Replaying a stored run: whether everything is still what it was, and whether the new history is the old one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from simrunner.config import load_design, load_workload
from simrunner.config.lookup import is_there
from simrunner.errors import InputError, TapeError
from simrunner.model.design import Design
from simrunner.model.event import CANONICAL, Event
from simrunner.model.workload import Workload
from simrunner.runtime.coordinator import Request
from simrunner.search.fitting import fitted
from simrunner.search.request import check_design, check_workload
from simrunner.store.folder import RunFolder
from simrunner.store.tape import Setup, Tape, tape_of

EVENTS = "events"
"""The folder that every run has."""


class Difference(NamedTuple):
    """The first event in which two histories differ."""

    seq: int
    words: str
    """In which columns, or which of them has ended."""


def read(folder: RunFolder) -> tuple[Tape, Request]:
    """Return a run's tape and the request that follows it.

    Raises TapeError if the run cannot be followed, or if its design or workload is not what it was.
    """
    if "parts" in folder.run():
        raise TapeError("is an acceptance: replay one of its runs, which lie in its folder experiments", place=folder.path)
    if not (folder.path / EVENTS).is_dir():
        raise TapeError("is no run but holds several, such as the findings of a campaign: name one of them", place=folder.path)
    tape = tape_of(folder)
    if tape.setup.mode != "stepped":
        raise TapeError("is a concurrent run (rounds): who won each race is not on its tape; run it again", place=folder.path)
    if not tape.decisions:
        raise TapeError("was ended before its first decision: there is nothing to replay", place=folder.path)
    paths = folder.run().get("paths")
    design, workload = _load(tape.setup, paths if isinstance(paths, dict) else {}, folder.path)
    _check_same("design", tape.setup.design, tape.setup.design_sha256, design.sha256, folder.path)
    _check_same("workload", tape.setup.workload, tape.setup.workload_sha256, workload.sha256, folder.path)
    check_design(design)
    check_workload(workload)
    setup = tape.setup
    return tape, Request(
        design, fitted(workload, design), setup.seed, setup.mode, setup.strategy, tape.decisions, coalesce=setup.coalesced
    )


def _load(setup: Setup, paths: Mapping[str, Any], place: Path) -> tuple[Design, Workload]:
    try:
        return (
            load_design(_where(setup.design, paths.get("design"))),
            load_workload(_where(setup.workload, paths.get("workload")), dict(setup.settings)),
        )
    except InputError as error:
        raise TapeError(f"cannot be replayed, its design or workload is gone or changed: {error}", place=place) from error


def _where(name: str, path: object) -> str:
    """The path from which it was read, if it is still there: a name means something else in another working directory."""
    return path if isinstance(path, str) and is_there(path) else name


def _check_same(what: str, name: str, then: str, now: str, place: Path) -> None:
    if then != now:
        raise TapeError(
            f"cannot be replayed: {what} {name} has changed since the run was made (sha256 {then[:12]} then, {now[:12]} now);"
            " bring it back, or make a new run",
            place=place,
        )


def first_difference(then: Sequence[Event], now: Sequence[Event]) -> Difference | None:
    """Return the first event whose canonical columns differ; None if the histories are equal."""
    for old, new in zip(then, now, strict=False):
        if old[: len(CANONICAL)] != new[: len(CANONICAL)]:
            return Difference(old.seq, _columns(old, new))
    if len(then) == len(now):
        return None
    shorter = "the new history" if len(now) < len(then) else "the old history"
    return Difference(min(len(then), len(now)) + 1, f"{shorter} has ended there")


def _columns(old: Event, new: Event) -> str:
    pairs = zip(CANONICAL, old, new, strict=False)
    return ", ".join(f"{name} was {then!r}, is {now!r}" for name, then, now in pairs if then != now)
