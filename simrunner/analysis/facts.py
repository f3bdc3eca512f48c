"""What run.json says about a run, as far as people are told, and the command line that repeats it. No pyarrow."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from simrunner.config.design import DESIGNS
from simrunner.config.lookup import Library, find
from simrunner.config.workload import WORKLOADS
from simrunner.errors import InputError, RunFolderError


@dataclass(frozen=True, slots=True)
class Server:
    """The object `postgres` of run.json."""

    major: int
    version: str
    """What `version()` said."""

    @property
    def number(self) -> str:
        """The version's number, e.g. `18.4`, without the name and the build."""
        words = self.version.split()
        return words[1] if len(words) > 1 else self.version


@dataclass(frozen=True, slots=True)
class Facts:
    """What run.json says about a run, as far as its verdict names it."""

    design: str
    workload: str
    seed: int
    mode: str
    strategy: str
    postgres: Server
    settings: tuple[tuple[str, str], ...] = ()
    error: str | None = None
    """Why the run failed, if it did."""
    paths: Mapping[str, str] = field(default_factory=dict)
    """From where `design` (a folder) and `workload` (a file) were read."""


def replay_line(path: Path, facts: Facts) -> str:
    """Return the command line that repeats a run; of a concurrent one, which cannot be followed, the one that asks again."""
    if facts.mode == "stepped":
        return shlex.join(["simrunner", "replay", shown_path(path)])
    settings = [word for key, value in facts.settings for word in ("--set", f"{key}={value}")]
    design, workload = _callable(DESIGNS, facts.design, facts), _callable(WORKLOADS, facts.workload, facts)
    words = ["simrunner", "run", workload, "--design", design, "--seed", str(facts.seed), "--mode", facts.mode]
    return shlex.join([*words, *settings])


def _callable(library: Library, name: str, facts: Facts) -> str:
    """The name, or the path where the name does not lead to it."""
    path = facts.paths.get(library.noun)
    if path is None:
        return name
    try:
        found = find(library, name)[1]
    except InputError:
        return shown_path(Path(path))
    return name if Path(path) in (found, found.parent) else shown_path(Path(path))


def shown_path(path: Path) -> str:
    """Return a path relative to the working directory when it lies in it, else as it is."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def facts_from(run: Mapping[str, Any], path: Path) -> Facts:
    """Return the facts of run.json's content. Raises RunFolderError, which names `path`."""
    try:
        return msgspec.convert(run, Facts)
    except msgspec.ValidationError as error:
        raise RunFolderError(f"the run ended before it was set up, or its run.json is damaged ({error})", place=path) from error
