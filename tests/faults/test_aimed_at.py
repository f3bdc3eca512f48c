"""The table of docs/faults.md: of every kind of fault a design that fails under it, and that without it does not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import NamedTuple

import pytest

from simrunner.faults.registry import FAULTS
from simrunner.runtime.coordinator import Request
from simrunner.runtime.database import Database
from simrunner.runtime.stage import Stage
from simrunner.search.explorer import play
from simrunner.search.request import prepare
from tests.runtime.runs import ROOT


class Case(NamedTuple):
    """A design in a row of the table; `kinds` begins with the kind that the row is about."""

    workload: str
    kinds: tuple[str, ...]
    design: str
    invariant: str | None
    """The root cause; None: the design keeps its promises."""


def cases() -> Iterator[Case]:
    lines = (ROOT / "docs" / "faults.md").read_text().partition("## What they are aimed at\n")[2].splitlines()
    for line in lines:
        if line.startswith("| `"):
            workloads, kinds, failing, passing = (tuple(re.findall(r"`([^`]+)`", cell)) for cell in line.split("|")[1:-1])
            assert failing, line
            assert passing, line
            for design, invariant in zip(failing[::2], failing[1::2], strict=True):
                yield Case(workloads[0], kinds, design, invariant)
            for design in passing:
                yield Case(workloads[0], kinds, design, None)


CASES = tuple(cases())


def root_cause(stage: Stage, asked: Request, kinds: tuple[str, ...]) -> str | None:
    """The root cause of a run with the workload's faults of these kinds, each of which strikes."""
    faults = tuple(fault for fault in asked.workload.faults if fault.kind in kinds)
    played = play(stage, replace(asked, workload=replace(asked.workload, faults=faults)), 0)
    assert played.result.error is None
    assert {event.value for event in played.memory.events if event.kind == "fault"} >= set(kinds)
    return played.result.root_cause


def test_every_kind_has_a_row() -> None:
    assert {case.kinds[0] for case in CASES} == set(FAULTS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.workload}-{case.kinds[0]}-{case.design}")
def test_a_design_fails_under_the_fault_alone_or_keeps_its_promises(database: Database, case: Case) -> None:
    asked = prepare(case.workload, case.design, {}, seed=1, mode="stepped", strategy=None)
    with closing(Stage(database, asked.design, asked.workload, keep=True)) as stage:
        assert root_cause(stage, asked, case.kinds) == case.invariant
        if case.invariant is not None:
            assert root_cause(stage, asked, case.kinds[1:]) is None
