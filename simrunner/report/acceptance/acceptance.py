"""An acceptance as it is read from its folder: its experiments, the gate and the decision."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from simrunner.analysis.facts import Server
from simrunner.errors import RunFolderError
from simrunner.report.acceptance.gate import Decision, Line, Status, decide, gate
from simrunner.report.acceptance.results import Experiment, read_experiments
from simrunner.store.folder import RunFolder

USUAL_MAJOR = 18
"""Of the embedded server, unless another is asked for."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """All that an acceptance came to."""

    path: Path
    status: str
    """complete, failed or interrupted."""
    design: str
    design_sha256: str
    seed: int
    simrunner: str
    started: str
    postgres: str
    """What `version()` said."""
    options: tuple[str, ...]
    """Of the command line that repeats it: which embedded server, if not the usual one."""
    experiments: tuple[Experiment, ...]
    lines: tuple[Line, ...]
    """The gate."""
    decision: Decision
    files: tuple[tuple[str, str], ...] = ()
    """The files of the evidence: name and meaning."""

    @property
    def again(self) -> str:
        """The command line that repeats it."""
        return shlex.join(["simrunner", "accept", "--design", self.design, "--seed", str(self.seed), *self.options])

    def with_evidence(self, files: Sequence[tuple[str, str]], problems: Sequence[str] = ()) -> Acceptance:
        """Return it with its evidence: name and meaning of each file, and what is wrong with them."""
        status = Status.VIOLATED if problems else Status.HOLDS
        figures = "; ".join(problems) or f"{len(files)} files in manifest.json"
        line = Line("Every evidence file is present and hashed", status, figures)
        return replace(self, files=tuple(files), lines=(*self.lines, line))


@dataclass(frozen=True, slots=True)
class _Facts:
    """What run.json says of an acceptance."""

    design: str
    design_sha256: str
    seed: int
    simrunner: str
    started: str
    postgres: Server
    embedded: bool

    @property
    def options(self) -> tuple[str, ...]:
        if not self.embedded:
            return ("--dsn", "DSN")
        return () if self.postgres.major == USUAL_MAJOR else ("--postgres", str(self.postgres.major))


def is_acceptance(folder: RunFolder) -> bool:
    """Whether a run folder is that of an acceptance."""
    return "parts" in folder.run()


def read_acceptance(folder: RunFolder) -> Acceptance:
    """Judge all runs of an acceptance again and decide. Raises RunFolderError if its run.json is damaged."""
    facts = _facts(folder.run(), folder.path)
    experiments = read_experiments(folder)
    lines = gate(experiments)
    return Acceptance(
        folder.path,
        folder.status(),
        facts.design,
        facts.design_sha256,
        facts.seed,
        facts.simrunner,
        facts.started,
        facts.postgres.version,
        facts.options,
        experiments,
        lines,
        decide(experiments, lines),
    )


def _facts(run: dict[str, Any], path: Path) -> _Facts:
    try:
        return msgspec.convert(run, _Facts)
    except msgspec.ValidationError as error:
        raise RunFolderError(f"is not an acceptance, or its run.json is damaged ({error})", place=path) from error
