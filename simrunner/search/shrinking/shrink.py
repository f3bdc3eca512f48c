"""Shrinking a failing run: follow its tape, take its schedule as deviations from round-robin, and make that small."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic

from simrunner.errors import Divergence, InputError
from simrunner.model.tape import STEP, Decision
from simrunner.model.workload import Workload
from simrunner.runtime.performance import Request
from simrunner.search.explorer import Played, used
from simrunner.search.shrinking.case import Case, size_of
from simrunner.search.shrinking.failure import Failure, failure_of
from simrunner.search.shrinking.passes import PASSES, leap
from simrunner.search.shrinking.trials import Trials
from simrunner.search.shrinking.tried import Tried
from simrunner.strategies.decider import TapeDecider
from simrunner.strategies.deviating import Loose, Noting


@dataclass(frozen=True, slots=True)
class Weight:
    """How large a case is, for people."""

    deviations: int
    """Decisions that differ from round-robin; faults are not among them."""
    faults: int
    workers: int
    jobs: int
    steps: int


@dataclass(frozen=True, slots=True)
class Shrunk:
    """The smallest case that was found."""

    failure: Failure
    case: Case
    before: Weight
    after: Weight
    decisions: tuple[Decision, ...]
    """The tape of the smallest case."""
    sha256: str
    """Of its history."""
    tried: int
    """Candidates, those of earlier shrinks included."""
    is_finished: bool
    """Nothing smaller is left to try; else the time was over."""


class _TimeOver(Exception):
    """The bound in seconds was reached."""


Told = Callable[[int, Case], None]
"""Told after every candidate: how many there were, and the smallest case so far."""


class Search:
    """One shrink. Keeps the best case so far, so that it is known when the time is over."""

    def __init__(
        self, trials: Trials, tried: Tried, failure: Failure, deadline: float, told: Callable[[int, Case], None]
    ) -> None:
        self._trials = trials
        self._tried = tried
        self._failure = failure
        self._deadline = deadline
        self._told = told
        self.best: Case

    def run(self, start: Case, workload: Workload, coarser: Callable[[], Case | None]) -> bool:
        """Make a case small. False: the time was over before nothing smaller was left to try.

        `coarser` gives another case to go on from, if the first pass does not help.
        """
        self.best = start
        try:
            if leap(start, workload, self.holds) == start:
                self.best = coarser() or start
            self._until_nothing_helps(workload)
        except _TimeOver:
            return False
        return True

    def _until_nothing_helps(self, workload: Workload) -> None:
        before: Case | None = None
        while before != self.best:
            before = self.best
            for one in PASSES:
                one(self.best, workload, self.holds)

    def holds(self, case: Case) -> bool:
        """Whether a candidate is smaller than the best case and fails in the same way; then it is the best one."""
        if case.cost >= self.best.cost:
            return False
        answer = self._tried.answer(case)
        if answer is None:
            if monotonic() > self._deadline:
                raise _TimeOver
            answer = self._try(case)
            self._tried.keep(case, holds=answer)
        if answer:
            self.best = case
        self._told(self._tried.asked, self.best)
        return answer

    def _try(self, case: Case) -> bool:
        played = self._trials.play(case)
        return played is not None and _failure(played) == self._failure


def shrink(request: Request, trials: Trials, *, tried: Tried, seconds: float, told: Told, sha256: str | None) -> Shrunk:
    """Make the run of a request that follows a tape small, within so many seconds.

    `sha256` is that of the run's history, where it is known. Raises InputError for a run that violates nothing, Divergence if
    the run cannot be repeated.
    """
    deadline = monotonic() + seconds
    original = trials.play_by(Noting(TapeDecider(request.decisions or ())), coalesce=request.coalesce)
    failure = _failure(original)
    if sha256 not in (None, original.result.sha256):
        raise Divergence("the run has another history when it is repeated; `simrunner replay` shows where")
    if failure is None:
        raise InputError("violates nothing that its workload judges: there is nothing to shrink")
    whole = Case(size_of(request.workload), request.coalesce, tuple(used(original, Noting).deviations))
    search = Search(trials, tried, failure, deadline, told)
    finished = search.run(whole, request.workload, lambda: _coalesced(whole, request, trials, failure))
    smallest = trials.play(search.best)
    if smallest is None or _failure(smallest) != failure:
        raise Divergence(
            "taken as deviations from round-robin the schedule does not fail any more: it can be replayed, not shrunk"
        )
    return Shrunk(
        failure,
        search.best,
        _weight(whole, original),
        _weight(search.best, smallest),
        tuple(smallest.memory.decisions),
        smallest.result.sha256,
        tried.asked,
        finished,
    )


def _coalesced(whole: Case, request: Request, trials: Trials, failure: Failure) -> Case | None:
    """Return the case with coalesced steps, if it fails in the same way when actors go in about the same order."""
    if whole.coalesced or request.workload.script:
        return None
    played = trials.play_by(Noting(Loose(request.decisions or (), whole.faults)), coalesce=True)
    if _failure(played) != failure:
        return None
    return Case(whole.size, True, tuple(used(played, Noting).deviations))


def _failure(played: Played) -> Failure | None:
    return None if played.verdict is None else failure_of(played.verdict, played.memory.events)


def _weight(case: Case, played: Played) -> Weight:
    return Weight(len(case.orders), len(case.faults), case.size.workers, case.size.all_jobs, _steps(played.memory.decisions))


def _steps(decisions: Sequence[Decision]) -> int:
    return sum(1 for decision in decisions if decision.kind == STEP)
