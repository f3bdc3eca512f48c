"""The playbook names shipped workloads that say what they rest on; what a design lacks is seen before anything runs."""

from __future__ import annotations

import re

import pytest

from simrunner.config import load_design, load_workload
from simrunner.report.acceptance.plan import CONTROL, MAIN, needed, plan
from simrunner.report.acceptance.playbook import PLAYBOOK, ROUNDS, Experiment
from simrunner.search.request import DECIDED

WORKLOADS = [name for experiment in PLAYBOOK for name in experiment.workloads]


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_experiment_says_what_it_rests_on(name: str) -> None:
    workload = load_workload(name)
    assert workload.experiment is not None
    assert re.fullmatch(r"[a-z0-9-]+\.html(#[A-Za-z0-9-]+)?", workload.experiment.page)
    words = " ".join(vars_of(workload.experiment)).lower()
    for never in ("fair queue", "the queue starts at", "per second", "throughput", "not executed"):
        assert never not in words


def vars_of(prose: object) -> list[str]:
    return [str(getattr(prose, name)) for name in ("documented", "hypothesis", "procedure", "accepted_when")]


def test_experiments_and_runs_have_names_of_their_own() -> None:
    names = [one.part.name for one in plan("reference", 1, PLAYBOOK)]
    assert len(names) == len(set(names))
    assert len(WORKLOADS) == len(set(WORKLOADS))


def test_the_reference_lacks_only_a_recovery_in_two_halves() -> None:
    missing = {one.part.name: one.part.missing for one in plan("reference", 1, PLAYBOOK) if one.part.missing}
    assert missing == {"late-rescue": ("recover-read", "recover-write")}


def test_a_control_names_an_invariant_that_can_be_judged() -> None:
    controls = [one.part for one in plan("reference", 1, PLAYBOOK) if one.part.role == CONTROL]
    assert {part.violates for part in controls} <= set(DECIDED)
    assert controls


def test_what_a_script_does_is_needed_and_what_a_crash_may_need_is_not() -> None:
    assert "recover" in needed(load_workload("abandoned-claim"))
    assert "recover" not in needed(load_workload("high-depth"))
    assert "enqueue" in needed(load_workload("high-depth"))
    assert "backlog" in needed(load_workload("query-plans-deep"))


def test_without_an_operation_neither_the_design_nor_its_controls_are_run() -> None:
    assert not load_design("mutants/no-recovery").offers("recover")
    planned = plan("mutants/no-recovery", 1, [one for one in PLAYBOOK if one.workload == "crash-after-commit"])
    planned += plan("mutants/no-recovery", 1, [one for one in PLAYBOOK if one.workload == "duplicate-effect"])
    assert [(one.part.missing, one.part.role) for one in planned] == [(("recover",), MAIN)] * 2


def test_both_modes_are_runs_of_one_experiment() -> None:
    parts = [one.part for one in plan("reference", 1, [Experiment("ordering-rounds", "x.csv", ("stepped", ROUNDS))])]
    assert [(part.name, part.mode) for part in parts[:2]] == [
        ("ordering-rounds", "stepped"),
        ("ordering-rounds--rounds", "rounds"),
    ]
    assert {part.experiment for part in parts} == {"ordering-rounds"}


def test_a_recovery_in_two_halves_is_a_recovery() -> None:
    abandoned = [one for one in PLAYBOOK if one.workload == "abandoned-claim"]
    missing = {one.part.name: one.part.missing for one in plan("variants/rescue-in-two-steps", 1, abandoned)}
    assert (missing["abandoned-claim"], missing["late-rescue"]) == ((), ())
