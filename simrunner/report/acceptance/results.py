"""What each run of an acceptance came to, read from the stored folders alone."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import msgspec

from simrunner.analysis.pipeline import Analysis, analyse, publish
from simrunner.errors import RecordingFailed, RunFolderError
from simrunner.model.verdict import Verdict
from simrunner.report.acceptance.plan import CONTROL, EXPERIMENTS, MAIN, Part
from simrunner.store.folder import COMPLETE, RunFolder
from simrunner.store.seal import seal


class Word(StrEnum):
    """The verdict of one experiment, or of one of its runs."""

    PASSED = "PASSED"
    FAILED = "FAILED"
    UNKNOWN = "UNKNOWN"
    NOT_EXERCISED = "NOT EXERCISED"
    NOT_EXECUTED = "NOT EXECUTED"
    NOT_PROMISED = "NOT PROMISED"
    NOT_OFFERED = "NOT OFFERED"


_WORDS = {
    Verdict.VALID: Word.PASSED,
    Verdict.VIOLATED: Word.FAILED,
    Verdict.UNKNOWN: Word.UNKNOWN,
    Verdict.NOT_EXERCISED: Word.NOT_EXERCISED,
}


@dataclass(frozen=True, slots=True)
class Result:
    """One run of an acceptance."""

    part: Part
    analysis: Analysis | None
    """None: it was not run, or its folder cannot be read."""
    damage: str | None
    """Why its folder cannot be read."""
    word: Word

    @property
    def error(self) -> str | None:
        """What kept the run from its end, or its folder from being read, on one line."""
        error = self.damage or (self.analysis.facts.error if self.analysis else None)
        return None if error is None else " ".join(error.split())

    @property
    def violated(self) -> tuple[str, ...]:
        """The judged invariants that were violated, the root cause first."""
        if self.analysis is None:
            return ()
        verdict = self.analysis.verdict
        names = [row.name for row in verdict.invariants if row.judged and row.verdict is Verdict.VIOLATED]
        return tuple(sorted(names, key=lambda name: name != verdict.root_cause))


@dataclass(frozen=True, slots=True)
class Experiment:
    """One question of the acceptance with all its runs: the design's own first."""

    name: str
    results: tuple[Result, ...]

    @property
    def part(self) -> Part:
        """Its first run as planned."""
        return self.results[0].part

    @property
    def own(self) -> tuple[Result, ...]:
        """The runs of the design under test."""
        return tuple(result for result in self.results if result.part.role == MAIN)

    @property
    def beside(self) -> tuple[Result, ...]:
        """The runs of other designs: those that must fail, and those that are compared."""
        return tuple(result for result in self.results if result.part.role != MAIN)

    @property
    def word(self) -> Word:
        """Its verdict: that of the design's runs; where they hold, that of a design beside it that does not do as it should."""
        own = _worst(result.word for result in self.own)
        wrong = [result.word for result in self.beside if result.word not in _HOLDING]
        return _worst(wrong) if wrong and own in _HOLDING else own


_SEVERITY = (Word.FAILED, Word.UNKNOWN, Word.NOT_EXECUTED, Word.NOT_EXERCISED, Word.PASSED, Word.NOT_PROMISED, Word.NOT_OFFERED)
_HOLDING = (Word.PASSED, Word.NOT_PROMISED, Word.NOT_OFFERED)


def _worst(words: Iterable[Word]) -> Word:
    return min(words, key=_SEVERITY.index)


def read_experiments(folder: RunFolder) -> tuple[Experiment, ...]:
    """Return the experiments of an acceptance in the playbook's order. Raises RunFolderError for a damaged run.json.

    Every run is sealed and judged, and its verdict written beside it. One that cannot be read is unknown.
    """
    found: dict[str, list[Result]] = {}
    for part in parts_from(folder):
        found.setdefault(part.experiment, []).append(_result(part, folder.path / EXPERIMENTS / part.name))
    return tuple(Experiment(name, tuple(results)) for name, results in found.items())


def parts_from(folder: RunFolder) -> tuple[Part, ...]:
    """Return the planned runs that run.json keeps. Raises RunFolderError."""
    run = folder.run()
    try:
        parts = msgspec.convert(run.get("parts"), tuple[Part, ...])
    except msgspec.ValidationError as error:
        raise RunFolderError(f"is not an acceptance, or its run.json is damaged ({error})", place=folder.path) from error
    asked = {part.experiment for part in parts if part.role == MAIN}
    for part in parts:
        if part.experiment not in asked:
            what = f"its run.json is damaged: no run of the experiment {part.experiment} is that of the design under test"
            raise RunFolderError(what, place=folder.path)
    return parts


def _result(part: Part, path: Path) -> Result:
    if part.missing:
        return Result(part, None, None, Word.NOT_OFFERED)
    if not path.exists():
        return Result(part, None, None, Word.NOT_EXECUTED)
    try:
        analysis = _judged(RunFolder.open(path))
    except RunFolderError as error:
        return Result(part, None, str(error), Word.UNKNOWN)
    return Result(part, analysis, None, _word(part, analysis))


def _judged(folder: RunFolder) -> Analysis:
    with suppress(RecordingFailed):  # a folder that cannot be written is judged as it is
        seal(folder)
    analysis = analyse(folder)
    with suppress(RecordingFailed):
        publish(folder, analysis)
    return analysis


def _word(part: Part, analysis: Analysis) -> Word:
    verdict = analysis.verdict
    if part.role == CONTROL and verdict.verdict is not Verdict.UNKNOWN:
        return Word.PASSED if verdict.root_cause == part.violates else Word.FAILED
    if verdict.verdict is not Verdict.VIOLATED and analysis.status == COMPLETE and not _asked_of(analysis):
        return Word.NOT_PROMISED
    return _WORDS[verdict.verdict]


def _asked_of(analysis: Analysis) -> bool:
    """Whether the design promises any of what the workload is there to exercise."""
    asked = analysis.terms.must_exercise or analysis.terms.judges
    return any(name in analysis.history.context.promises.invariants for name in asked)
