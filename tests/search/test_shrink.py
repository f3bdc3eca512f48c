"""Shrinking failing runs of designs that are broken on purpose, on a real server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from simrunner.errors import Divergence, InputError, Interrupted
from simrunner.runtime.database import Database
from simrunner.runtime.performance import Request
from simrunner.search.explorer import Played
from simrunner.search.request import prepare
from simrunner.search.shrinking.case import Case
from simrunner.search.shrinking.shrink import Shrunk, Told, shrink
from simrunner.search.shrinking.trials import Trials
from simrunner.search.shrinking.tried import Tried
from simrunner.strategies.decider import Decider, SeededDecider
from simrunner.strategies.random_walk import RandomWalk
from tests.runtime.runs import nobody


class Counting(Trials):
    """Counts the cases that are run."""

    played = 0

    def play(self, case: Case) -> Played | None:
        self.played += 1
        return super().play(case)


def wanted(mutant: str, workload: str = "smoke") -> Request:
    request = prepare(workload, f"mutants/{mutant}", {}, seed=1, mode="stepped", strategy=None)
    return replace(request, coalesce=True)


@contextmanager
def trials(request: Request, database: Database) -> Iterator[Counting]:
    with closing(Counting(request, request.workload.path, database)) as opened:
        yield opened


def failing(request: Request, opened: Trials) -> tuple[Request, str]:
    """Return the first schedule of a few seeds that violates something, as a tape; and the SHA-256 of its history."""
    for seed in range(1, 20):
        played = opened.play_by(walking(seed), coalesce=True)
        if played.result.root_cause is not None:
            return replace(request, decisions=tuple(played.memory.decisions)), played.result.sha256
    pytest.fail("no seed violates anything")


def walking(seed: int) -> Decider:
    return SeededDecider(RandomWalk(seed), lambda view: None)


def shrunk(request: Request, opened: Trials, folder: Path, seconds: float = 60.0, told: Told = nobody) -> Shrunk:
    tape, sha256 = failing(request, opened)
    return shrink(tape, opened, tried=Tried(folder, "test"), seconds=seconds, told=told, sha256=sha256)


@pytest.mark.parametrize(
    ("mutant", "workload", "invariants"),
    [
        ("select-then-update", "smoke", ("single-live-claim", "no-false-empty")),
        ("naive-subquery", "smoke", ("single-live-claim",)),
        ("claim-outside-order", "smoke", ("claim-order",)),
        ("unguarded-rescue", "short-lease", ("fenced-recovery",)),
    ],
)
def test_what_is_broken_is_small(
    database: Database, tmp_path: Path, mutant: str, workload: str, invariants: tuple[str, ...]
) -> None:
    request = wanted(mutant, workload)
    with trials(request, database) as opened:
        found = shrunk(request, opened, tmp_path)
        again = opened.play_request(opened.request(found.case, found.decisions))
    assert found.is_finished
    assert found.failure.invariant in invariants
    assert again.result.root_cause == found.failure.invariant
    assert again.result.sha256 == found.sha256
    assert found.after.workers <= 2
    assert found.after.jobs <= 2
    assert found.after.deviations + found.after.faults <= 3
    assert found.after.deviations < found.before.deviations
    assert found.after.steps <= found.before.steps


def test_the_crash_that_matters_stays(database: Database, tmp_path: Path) -> None:
    """The whole tape of a run with its own faults, not coalesced."""
    request = replace(wanted("no-recovery"), coalesce=False)
    with trials(request, database) as opened:
        played = opened.play_request(request)
        tape = replace(request, decisions=tuple(played.memory.decisions))
        tried = Tried(tmp_path, "test")
        found = shrink(tape, opened, tried=tried, seconds=60, told=nobody, sha256=played.result.sha256)
    assert found.failure.invariant == "no-job-lost"
    assert (found.after.deviations, found.after.faults, found.after.workers, found.after.jobs) == (0, 1, 1, 1)
    assert found.before.faults == 1
    assert found.case.coalesced


def test_an_interrupted_shrink_goes_on_where_it_was(database: Database, tmp_path: Path) -> None:
    request = wanted("claim-outside-order")
    with trials(request, database) as opened:
        whole = shrunk(request, opened, tmp_path)
        needed, opened.played = opened.played, 0
        (other := tmp_path / "other").mkdir()

        def interrupt(tried: int, best: Case) -> None:
            if tried == 3:
                raise Interrupted("of a test")

        with pytest.raises(Interrupted):
            shrunk(request, opened, other, told=interrupt)
        before, opened.played = opened.played, 0
        found = shrunk(request, opened, other)
        assert (found.case, found.decisions) == (whole.case, whole.decisions)
        assert before + opened.played == needed
        opened.played = 0
        assert shrunk(request, opened, other).case == whole.case
        assert opened.played == 1  # only the smallest case itself: everything else was tried before


def test_no_time_is_no_loss(database: Database, tmp_path: Path) -> None:
    request = wanted("claim-outside-order")
    with trials(request, database) as opened:
        found = shrunk(request, opened, tmp_path, seconds=0.0)
        assert not found.is_finished
        assert found.after == found.before


def test_a_run_without_a_violation_is_refused(database: Database, tmp_path: Path) -> None:
    request = prepare("smoke", "reference", {}, seed=1, mode="stepped", strategy=None)
    with trials(request, database) as opened:
        played = opened.play_request(request)
        tape = replace(request, decisions=tuple(played.memory.decisions))
        with pytest.raises(InputError, match="nothing to shrink"):
            shrink(tape, opened, tried=Tried(tmp_path, "test"), seconds=60, told=nobody, sha256=played.result.sha256)
        with pytest.raises(Divergence, match="another history"):
            shrink(tape, opened, tried=Tried(tmp_path, "test"), seconds=60, told=nobody, sha256="0" * 64)
