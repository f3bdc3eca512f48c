"""Which keys go with which fault, and what a mistake is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from simrunner.errors import WorkloadError
from simrunner.faults.keys import mistakes
from simrunner.faults.registry import FAULTS
from simrunner.model.tape import FAULTS as COMMANDS
from simrunner.model.workload import FaultSpec
from simrunner.search.request import prepare
from simrunner.search.sources import swarm
from tests.runtime.runs import workload_file

KILLED = '[[faults]]\nkind = "kill"\ncrash_point = "after-commit"\n'


def test_every_fault_has_a_command_and_its_own_name() -> None:
    assert tuple(FAULTS) == COMMANDS
    assert all(name == fault.name for name, fault in FAULTS.items())


@pytest.mark.parametrize("kind", FAULTS)
def test_what_a_campaign_draws_is_what_a_workload_may_say(kind: str) -> None:
    drawn = [FAULTS[kind].drawn(Random(seed)) for seed in range(50)]
    assert {spec.kind for spec in drawn} == {kind}
    assert [list(mistakes(spec, "stepped")) for spec in drawn] == [[]] * 50


@pytest.mark.parametrize(
    ("lines", "key", "words"),
    [
        ('kind = "kill"\nrounds = 2', "rounds = 2", "faults[0].rounds: kill takes no rounds; it takes kind, times, round"),
        ('kind = "pause"', 'kind = "pause"', "faults[0].kind: pause needs rounds"),
        ('kind = "pause"\nrounds = 1\nat = "claim:1"\ncrash_point = "during-work"', "at =", "leave out crash_point or at"),
        ('kind = "pause"\nrounds = 0', "rounds = 0", "expected int >= 1"),
        ('kind = "paus"\nrounds = 1', "", "no fault 'paus'; did you mean 'pause'?"),
    ],
)
def test_a_mistake_is_told_with_key_and_line(tmp_path: Path, lines: str, key: str, words: str) -> None:
    path = workload_file(tmp_path, "smoke", [(KILLED, f"[[faults]]\n{lines}\n")])
    with pytest.raises(WorkloadError) as told:
        prepare(str(path), "reference", {}, seed=1, mode="stepped", strategy=None)
    text = path.read_text()
    line = text.count("\n", 0, text.index(key, text.index("[[faults]]"))) + 1
    assert words in str(told.value)
    assert f":{line}: " in str(told.value) or not key


def test_what_cannot_strike_where_claims_race_is_refused(tmp_path: Path) -> None:
    path = workload_file(tmp_path, "smoke", [(KILLED, '[[faults]]\nkind = "pause"\nrounds = 2\n')])
    prepare(str(path), "reference", {}, seed=1, mode="stepped", strategy=None)
    with pytest.raises(WorkloadError, match="pause cannot strike where claims race"):
        prepare(str(path), "reference", {}, seed=1, mode="rounds", strategy=None)


def test_a_campaign_draws_swarm_style() -> None:
    """Every subset of the kinds occurs, and one more kind does not move the others."""
    drawn = [swarm(seed, 1, tuple(FAULTS)) for seed in range(200)]
    assert {frozenset(spec.kind for spec in one) & {"kill", "pause"} for one in drawn} == {
        frozenset(), frozenset({"kill"}), frozenset({"pause"}), frozenset({"kill", "pause"})}  # fmt: skip
    for seed in range(50):
        alone = swarm(seed, 1, ("pause",))
        assert alone == tuple(spec for spec in swarm(seed, 1, tuple(FAULTS)) if spec.kind == "pause")
    assert all(not swarm(seed, 0, ("kill",)) for seed in range(20))


def test_a_spec_that_is_no_default_counts_as_given() -> None:
    assert list(mistakes(replace(FaultSpec("kill", "after-commit"), round=3), "rounds")) == []
