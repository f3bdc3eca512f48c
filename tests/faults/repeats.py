"""Runs of a workload on one stage: what a seed fixes, and what a design makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace

from simrunner.model.verdict import Verdict
from simrunner.runtime.database import Database
from simrunner.runtime.stage import Stage
from simrunner.search.explorer import Played, play
from simrunner.search.request import prepare


def repeated(
    database: Database,
    workload: str,
    design: str = "reference",
    *,
    times: int = 10,
    seed: int = 1,
    settings: Mapping[str, str] = {},
    strategy: str | None = None,
    reuse: bool = False,
) -> list[Played]:
    """Run a workload so often with one seed, and once more by the tape of the last run."""
    request = prepare(workload, design, settings, seed=seed, mode="stepped", strategy=strategy)
    with closing(Stage(database, request.design, request.workload, keep=True, reuse=reuse)) as stage:
        runs = [play(stage, request, number) for number in range(times)]
        again = replace(request, decisions=runs[-1].memory.decisions)
        return [*runs, play(stage, again, times)]


def histories(runs: list[Played]) -> set[str]:
    """The different histories among the runs, each of which was judged."""
    assert [one.result.error for one in runs] == [None] * len(runs)
    assert all(one.result.is_deterministic for one in runs)
    return {one.result.sha256 for one in runs}


def root_causes(runs: list[Played]) -> set[str | None]:
    """The root causes of the runs; None: valid."""
    assert all((one.result.verdict == Verdict.VIOLATED.value) == (one.result.root_cause is not None) for one in runs)
    return {one.result.root_cause for one in runs}


def struck(one: Played) -> list[tuple[str | None, str | None]]:
    """(kind, actor) of the faults of a run, in order."""
    return [(event.value, event.actor) for event in one.memory.events if event.kind == "fault"]
