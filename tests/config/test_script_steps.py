"""Steps of a script: what each action takes, and every mistake with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from simrunner.config import load_workload
from simrunner.errors import WorkloadError
from simrunner.model.workload import Expectation, ScriptStep

HEAD = """\
title = "A question"
question = "Does it hold?"
[fixture]
jobs = 4
[policy]
lease_ms = 5000
[judge]
judges = ["claim-order"]
[[script]]
"""


def load(tmp_path: Path, step: str) -> tuple[ScriptStep, ...]:
    file = tmp_path / "mine.toml"
    file.write_text(HEAD + step, encoding="utf-8")
    return load_workload(str(file)).script


def test_a_step_is_read_with_its_expectation(tmp_path: Path) -> None:
    text = 'actor = "a"\ndo = "candidates"\nlimit = 2\nlock = "FOR UPDATE"\nsays = "so"\n'
    text += 'expect = { jobs = ["1"], blocked_by = "b" }\n'
    expected = Expectation(jobs=("1",), blocked_by="b")
    assert load(tmp_path, text) == (ScriptStep("candidates", "a", lock="FOR UPDATE", limit=2, expect=expected, says="so"),)


@pytest.mark.parametrize(
    "step",
    [
        'do = "look"',
        'do = "look"\ntimes = 2',
        'actor = "a"\ndo = "begin"\nisolation = "serializable"',
        'actor = "a"\ndo = "explain"\nanalyze = true',
        'actor = "a"\ndo = "complete"\nclaim_of = "b"',
        'actor = "a"\ndo = "report"',
        'do = "advance"\nclaim_of = "a"\nms = 5',
    ],
)
def test_what_an_action_takes(tmp_path: Path, step: str) -> None:
    assert len(load(tmp_path, step)) == 1


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ('do = "clam"', r"mine.toml:10: script\[0\].do: no action 'clam'; did you mean 'claim'"),
        ('do = "claim"', r"mine.toml:10: script\[0\].do: claim needs actor"),
        ('do = "look"\nactor = "a"', r"mine.toml:11: script\[0\].actor: look takes no actor"),
        (
            'do = "claim"\nactor = "a"\nisolation = "serializable"',
            r"mine.toml:12: script\[0\].isolation: claim takes no isolation",
        ),
        ('do = "count"\nactor = "a"\nlimit = 1', r"mine.toml:12: script\[0\].limit: count takes no limit"),
        ('do = "begin"\nactor = "a"\nisolation = "chaos"', r"mine.toml:12: script\[0\].isolation: invalid enum value"),
        ('do = "advance"', r"mine.toml:10: script\[0\].do: advance needs ms, or claim_of"),
        ('do = "lock-table"\nactor = "a"', r"mine.toml:10: script\[0\].do: lock-table needs mode"),
        ('do = "amend"\nactor = "a"', r"mine.toml:10: script\[0\].do: amend needs job"),
        (
            'do = "kill"\nactor = "a"\ncrash_point = "after-comit"',
            r"mine.toml:12: script\[0\].crash_point: .*did you mean 'after-commit",
        ),
        ('do = "claim"\nactor = "a"\nexpect.sqlstate = "bad"', r"mine.toml:12: script\[0\].expect.sqlstate: "),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, step: str, message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        load(tmp_path, step)
