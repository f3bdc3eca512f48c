"""The acceptance gate, line by line, with figures of the runs; and the decision that follows. Pure functions of the results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from simrunner.checkers.registry import CHECKERS
from simrunner.model.verdict import InvariantVerdict, Verdict
from simrunner.report.acceptance.playbook import STEPPED
from simrunner.report.acceptance.results import Experiment, Result, Word

SCRIPTED = "as-scripted"
"""It compares a script's steps with its expectations: any named invariant says more."""

INVARIANT_LINES = (
    ("No job has two live claims", "single-live-claim"),
    ("No stale completion is accepted", "fenced-writes"),
    ("A claim that did not commit leaves nothing behind", "claim-atomic"),
    ("Nothing is recovered before its lease expired", "lease-honoured"),
    ("The claim is committed before the work begins", "short-claim-transaction"),
    ("A job has at most one committed effect", "effect-once"),
    ("Every finite cohort comes to its end once blockers are gone and recovery has run", "no-job-lost"),
    ("The highest-ranked eligible unlocked candidate wins the next controlled claim", "claim-order"),
)
DEEP = "high-depth"
"""The experiment with a backlog that never drains."""
PROGRESS = "Every original job progresses under high depth"


class Status(StrEnum):
    """How a line of the gate stands."""

    HOLDS = "holds"
    VIOLATED = "VIOLATED"
    UNKNOWN = "unknown"
    NOT_EXERCISED = "not exercised"
    NOT_PROMISED = "not promised"
    NOT_OFFERED = "not offered"


_STATUS = {
    Verdict.VIOLATED: Status.VIOLATED,
    Verdict.UNKNOWN: Status.UNKNOWN,
    Verdict.VALID: Status.HOLDS,
    Verdict.NOT_EXERCISED: Status.NOT_EXERCISED,
    Verdict.NOT_PROMISED: Status.NOT_PROMISED,
    Verdict.NOT_OFFERED: Status.NOT_OFFERED,
}
"""The worst first: of several runs it decides, but that an occasion in one of them is enough."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the gate."""

    text: str
    status: Status
    figures: str


@dataclass(frozen=True, slots=True)
class Tally:
    """One invariant over all runs of the design under test that judge it."""

    name: str
    status: Status
    opportunities: int
    """In stepped runs."""
    violations: int
    runs: int
    """Stepped runs in which it was decided."""


def gate(experiments: Sequence[Experiment]) -> tuple[Line, ...]:
    """Return the lines that follow from the runs; what is said of the evidence files is added when they are written."""
    tallies = {tally.name: tally for tally in tally_all(experiments)}
    promised = promised_by(experiments)
    lines = [_line(text, name, tallies.get(name), promised) for text, name in INVARIANT_LINES]
    executed = [one for one in experiments if any(result.analysis is not None for result in one.own)]
    offered = [one for one in experiments if one.word is not Word.NOT_OFFERED]
    status = Status.HOLDS if len(executed) == len(offered) else Status.UNKNOWN
    figures = f"{len(executed)} of {len(experiments)} ran" + _lacking(len(experiments) - len(offered))
    return (*lines, _progress(experiments), Line("Each required experiment ran", status, figures))


def _lacking(count: int) -> str:
    return f"; {count} ask for what the design does not offer" if count else ""


def promised_by(experiments: Sequence[Experiment]) -> frozenset[str]:
    """Return what the design under test promises in any of its runs. For membership tests only."""
    analyses = (result.analysis for experiment in experiments for result in experiment.own)
    promised = (one.history.context.promises.invariants for one in analyses if one is not None)
    return frozenset[str]().union(*promised)


def _line(text: str, name: str, tally: Tally | None, promised: frozenset[str]) -> Line:
    if tally is None:
        status = Status.NOT_EXERCISED if name in promised else Status.NOT_PROMISED
        return Line(f"{text} (`{name}`)", status, "no run judged it")
    occasions = f"{tally.violations} violations in {tally.opportunities} occasions of {tally.runs} stepped runs"
    if tally.status is Status.NOT_PROMISED:
        occasions = f"not judged: {tally.violations} of {tally.opportunities} occasions would have broken it"
    return Line(f"{text} (`{name}`)", tally.status, occasions)


def _progress(experiments: Sequence[Experiment]) -> Line:
    deep = next((one for one in experiments if one.name == DEEP), None)
    result = deep.own[0] if deep and deep.own else None
    if result is None or result.analysis is None:
        return Line(PROGRESS, Status.NOT_EXERCISED, f"`{DEEP}` gave no run to look at")
    history = result.analysis.history
    ends = {job: row.state for job, row in history.context.final_jobs or ()}
    seeds = [event.job for event in history.of_kind("seed") if event.cohort is not None and event.job is not None]
    claimed = {event.job for event in history.claims}
    progressed = sum(1 for job in seeds if job in claimed)
    ended = sum(1 for job in seeds if ends.get(job) in _ENDED or (job not in ends and job in claimed))
    return Line(
        PROGRESS,
        _progressed(result, progressed == len(seeds) == ended),
        f"{progressed} of {len(seeds)} original jobs were claimed, {ended} came to their end",
    )


def _progressed(result: Result, all_did: bool) -> Status:
    if all_did:
        return Status.HOLDS
    if result.word is Word.UNKNOWN:
        return Status.UNKNOWN
    promises = result.analysis.history.context.promises.invariants if result.analysis else ()
    return Status.VIOLATED if "no-job-lost" in promises else Status.NOT_PROMISED


_ENDED = ("done", "failed", "cancelled")


def tally_all(experiments: Sequence[Experiment]) -> tuple[Tally, ...]:
    """Return every invariant that some run of the design under test judges, in the order of the registry."""
    rows: dict[str, list[tuple[InvariantVerdict, bool]]] = {}
    for result in (result for experiment in experiments for result in experiment.own):
        for row in result.analysis.verdict.invariants if result.analysis else ():
            rows.setdefault(row.name, [])
            if row.judged:
                rows[row.name].append((row, result.part.mode == STEPPED))
    return tuple(_tally(name, judged) for name, judged in rows.items() if judged)


def _tally(name: str, rows: Sequence[tuple[InvariantVerdict, bool]]) -> Tally:
    """Merge the rows of one invariant. Occasions are those of stepped runs: in a race their number is luck."""
    found = {row.verdict for row, _ in rows}
    status = next(status for verdict, status in _STATUS.items() if verdict in found)
    counted = (Verdict.NOT_PROMISED,) if status is Status.NOT_PROMISED else (Verdict.VALID, Verdict.VIOLATED)
    decided = [row for row, stepped in rows if stepped and row.verdict in counted]
    violations = sum(row.violations for row, _ in rows if row.verdict in counted)
    return Tally(name, status, sum(row.opportunities for row in decided), violations, len(decided))


class DecisionWord(StrEnum):
    """How an acceptance ends."""

    ACCEPTED = "ACCEPTED"
    REJECTED = "REJECTED"
    INCONCLUSIVE = "INCONCLUSIVE"


EXIT_CODE = {DecisionWord.ACCEPTED: 0, DecisionWord.REJECTED: 1, DecisionWord.INCONCLUSIVE: 3}


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision over a design."""

    word: DecisionWord
    violated: tuple[tuple[str, tuple[str, ...]], ...]
    """(invariant, experiments of which it is the root cause), the one with most experiments first, then as registered."""
    reasons: tuple[str, ...]
    """Why it is not ACCEPTED, one a line."""

    @property
    def root_cause(self) -> str | None:
        """The invariant that most experiments name."""
        return self.violated[0][0] if self.violated else None


def decide(experiments: Sequence[Experiment], lines: Sequence[Line]) -> Decision:
    """Decide: REJECTED if the design violated what it promises, else INCONCLUSIVE if anything was left open, else ACCEPTED."""
    violated = _violated(experiments)
    open_ = tuple(_open(experiments, lines))
    rejected = tuple(f"`{name}` was violated in {', '.join(where)}" for name, where in violated)
    if rejected:
        return Decision(DecisionWord.REJECTED, violated, rejected)
    return Decision(DecisionWord.INCONCLUSIVE if open_ else DecisionWord.ACCEPTED, (), open_)


def _violated(experiments: Sequence[Experiment]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found: dict[str, list[str]] = {}
    for experiment in experiments:
        for result in experiment.own:
            cause = result.violated[0] if result.violated else None
            if cause is not None and experiment.name not in found.setdefault(cause, []):
                found[cause].append(experiment.name)
    ranks = [checker.name for checker in CHECKERS]
    order = sorted(found, key=lambda name: (name == SCRIPTED, -len(found[name]), ranks.index(name)))
    return tuple((name, tuple(found[name])) for name in order)


def _open(experiments: Sequence[Experiment], lines: Sequence[Line]) -> Iterator[str]:
    results = [result for experiment in experiments for result in experiment.results]
    absent = [result.part.name for result in results if result.word is Word.NOT_EXECUTED]
    if absent:
        yield f"{Word.NOT_EXECUTED}: {', '.join(absent)}"
    for result in results:
        if result.word in (Word.FAILED, Word.UNKNOWN, Word.NOT_EXERCISED):
            yield f"{result.part.name}: {result.word}{_why(result)}"
    for line in lines:
        if line.status in (Status.NOT_EXERCISED, Status.UNKNOWN, Status.VIOLATED):
            yield f"{line.text}: {line.status}, {line.figures}"


def _why(result: Result) -> str:
    if result.error is not None:
        return f", {result.error}"
    if result.part.violates is not None and result.analysis is not None:
        cause = result.analysis.verdict.root_cause or "nothing"
        return f", this control must violate {result.part.violates} and violated {cause}"
    return ""
