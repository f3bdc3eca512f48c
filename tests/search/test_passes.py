"""The passes of a shrink, against failures that are known: no database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from simrunner.config import load_workload
from simrunner.model.tape import KILL, STEP
from simrunner.search.shrinking import passes
from simrunner.search.shrinking.case import Case, fewest_liveness_rounds, fitted_to, settings_for, size_of, with_deviations
from simrunner.search.shrinking.tried import Tried
from simrunner.strategies.deviating import HOLD, Deviation
from tests.runtime.runs import script_file

DEEP = load_workload("high-depth")
STEPS = tuple(Deviation(STEP, 1 + n // 10, 1 + n % 10, "worker-b") for n in range(40))
KILLS = (Deviation(KILL, 4, 0, "worker-c", "after-commit"), Deviation(KILL, 6, 0, "worker-a", "before-claim"))
WHOLE = Case(size_of(DEEP), True, (*STEPS, *KILLS))


class Asked:
    """A failure that shows in some cases; like a search it takes smaller ones only, and remembers what it was asked."""

    def __init__(self, fails: Callable[[Case], bool], best: Case = WHOLE) -> None:
        self.fails, self.best = fails, best
        self.cases: list[Case] = []

    def __call__(self, case: Case) -> bool:
        if case.cost >= self.best.cost:
            return False
        self.cases.append(case)
        if self.fails(case):
            self.best = case
        return self.best is case


@pytest.mark.parametrize("needed", [(), (7,), (0, 39), (3, 4, 5, 30)])
def test_only_the_deviations_that_matter_are_left(needed: tuple[int, ...]) -> None:
    wanted = {STEPS[place] for place in needed}
    asked = Asked(lambda case: wanted <= set(case.orders))
    left = passes.drop_deviations(WHOLE, DEEP, asked)
    assert set(left.orders) == wanted
    assert left.faults == KILLS
    assert len(asked.cases) < 100


def test_only_the_faults_that_matter_are_left() -> None:
    left = passes.drop_faults(WHOLE, DEEP, Asked(lambda case: KILLS[1] in case.faults))
    assert left.faults == (KILLS[1],)


def test_faults_of_one_round_keep_their_order() -> None:
    """Who is stopped first is not where the second fault was to strike him."""
    lost, stopped = (
        Deviation("terminate-backend", 2, 0, "worker-b", "after-commit"),
        Deviation("pause", 2, 0, "worker-b", "after-commit"),
    )
    orders = (Deviation(STEP, 1, 2, "worker-b"), Deviation(HOLD, 2, 1, "worker-a"))
    for faults in ((lost, stopped), (stopped, lost)):
        case = with_deviations(WHOLE, (*faults, *reversed(orders)))
        assert case.deviations == (orders[0], *faults, orders[1])


def test_a_leap_lands_where_it_fails() -> None:
    def fails(case: Case) -> bool:
        return bool(case.faults) and case.size.workers == 2

    landed = passes.leap(WHOLE, DEEP, Asked(fails))
    assert (landed.orders, len(landed.faults), landed.size.jobs, landed.size.rounds) == ((), 1, 1, 1)
    assert landed.faults[0].actor == "worker-a"  # there is no worker-c any more


def test_every_number_becomes_as_small_as_it_can() -> None:
    def fails(case: Case) -> bool:
        size = case.size
        return size.workers >= 2 and size.jobs >= 5 and size.rounds >= 3 and size.producers[0] >= 1

    asked = Asked(fails)
    for one in (passes.fewer_workers, passes.fewer_jobs, passes.fewer_rounds, passes.fewer_others):
        one(asked.best, DEEP, asked)
    size = asked.best.size
    assert (size.workers, size.jobs, size.rounds, size.producers, size.ghosts) == (2, 5, 3, (1,), False)
    assert size.recoverers == 1


def test_the_liveness_phase_stays_long_enough_for_any_design() -> None:
    asked = Asked(lambda case: True)
    left = passes.fewer_rounds(WHOLE, DEEP, asked)
    lapse, recovery, jobs = 3, 2, left.size.all_jobs
    assert left.size.liveness_rounds == fewest_liveness_rounds(DEEP, left.size) == lapse + recovery + jobs
    assert all(case.size.liveness_rounds >= fewest_liveness_rounds(DEEP, case.size) for case in asked.cases)


def test_one_hold_instead_of_many_steps_out_of_turn() -> None:
    def fails(case: Case) -> bool:
        return any(one.kind == HOLD and (one.round, one.actor) == (1, "worker-a") for one in case.orders)

    left = passes.hold_instead(WHOLE, DEEP, Asked(fails))
    assert [one.kind for one in left.orders] == [HOLD]
    assert left.faults == KILLS


def test_a_kill_moves_to_the_first_round_in_which_it_fails() -> None:
    def fails(case: Case) -> bool:
        return case.orders == STEPS and all(kill.round >= 3 for kill in case.faults if kill.actor == "worker-c")

    left = passes.earlier(WHOLE, DEEP, Asked(fails))
    assert {kill.actor: kill.round for kill in left.faults} == {"worker-c": 3, "worker-a": 1}


def test_of_a_script_nothing_is_taken_away(tmp_path: Path) -> None:
    script = load_workload(str(script_file(tmp_path, "worker-a claim")))
    case = Case(size_of(script), False, ())
    asked = Asked(lambda case: True, case)
    for one in passes.PASSES:
        assert one(case, script, asked) == case
    assert asked.cases == []


def test_settings_name_what_differs() -> None:
    size = size_of(DEEP)
    assert settings_for(size, DEEP) == {}
    smaller = size._replace(workers=2, jobs=1, producers=(0,), ghosts=False)
    workload = load_workload("high-depth", settings_for(smaller, DEEP))
    assert size_of(workload) == smaller
    assert dict(workload.settings)["actors.workers"] == "2"


def test_a_worker_that_is_gone_is_replaced() -> None:
    smaller = fitted_to(WHOLE, WHOLE.size._replace(workers=2, rounds=2), DEEP)
    assert [(kill.actor, kill.round) for kill in smaller.faults] == [("worker-a", 2), ("worker-a", 2)]


def test_answers_are_kept_across_a_crash(tmp_path: Path) -> None:
    tried = Tried(tmp_path, "a run")
    tried.keep(WHOLE, holds=True)
    with (tmp_path / "shrink.jsonl").open("ab") as file:
        file.write(b'- {"size":[1')  # the last line of a process that was killed
    again = Tried(tmp_path, "a run")
    assert again.answer(WHOLE) is True
    assert again.answer(Case(WHOLE.size, False, ())) is None
    again.keep(Case(WHOLE.size, False, ()), holds=False)
    assert Tried(tmp_path, "a run").answer(Case(WHOLE.size, False, ())) is False


def test_answers_to_another_question_are_thrown_away(tmp_path: Path) -> None:
    Tried(tmp_path, "a run").keep(WHOLE, holds=True)
    assert Tried(tmp_path, "another run").answer(WHOLE) is None
