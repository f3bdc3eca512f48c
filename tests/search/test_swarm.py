"""Campaigns that draw every kind of fault: each schedule is what its seed says, twice, and what it finds can be made small."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

from simrunner.faults.registry import FAULTS
from simrunner.runtime.database import Database
from simrunner.search.campaign import Campaign, request_of
from simrunner.search.coordinator import Theatre
from simrunner.search.explorer import Played
from simrunner.search.shrinking.shrink import shrink
from simrunner.search.shrinking.trials import Trials
from simrunner.search.shrinking.tried import Tried
from simrunner.search.sources import Seeded

SCHEDULES = 24


def test_every_kind_strikes_and_every_schedule_repeats(database: Database) -> None:
    base = request_of(Campaign("smoke", "reference", {"safety.rounds": "4", "jobs": "8"}))
    source = Seeded(base, 1, tuple(FAULTS))
    with closing(Theatre(database, base, 1)) as theatre:
        runs: list[tuple[Played, ...]] = []
        for number in range(SCHEDULES):
            one = theatre.play(source.request(number), number)
            by_tape = replace(source.request(number), decisions=one.memory.decisions)
            runs.append((one, theatre.play(source.request(number), number), theatre.play(by_tape, number)))
    assert [one.result.error for same in runs for one in same] == [None] * 3 * SCHEDULES
    assert [one.result.verdict for one, *_ in runs] == ["valid"] * SCHEDULES
    assert [len({one.result.sha256 for one in same}) for same in runs] == [1] * SCHEDULES
    struck = {kind for one, *_ in runs for kind in one.result.faults}
    assert struck == set(FAULTS) - {"kill"}


def test_a_failure_that_takes_a_fault_is_made_small(database: Database, tmp_path: Path) -> None:
    """What is left of a schedule with kills and pauses is the one fault without which the promise holds."""
    base = request_of(Campaign("smoke", "mutants/unfenced-completion", {"safety.rounds": "8", "ghost_operations": ""}))
    source = Seeded(base, 1, ("kill", "pause"))
    with closing(Theatre(database, base, 1)) as theatre:
        played = (theatre.play(source.request(number), number) for number in range(60))
        failing = next(one for one in played if one.result.root_cause == "fenced-writes")
    database.recreate()
    request = replace(failing.request, decisions=tuple(failing.memory.decisions))
    with closing(Trials(request, base.workload.path, database)) as trials:
        small = shrink(
            request, trials, tried=Tried(tmp_path, "test"), seconds=60, told=lambda *_: None, sha256=failing.result.sha256
        )
    assert [one.kind for one in small.case.faults] == ["pause"]
    assert small.after.faults == 1
    assert (small.before.faults, small.before.deviations) > (1, 30) > (0, small.after.deviations)
