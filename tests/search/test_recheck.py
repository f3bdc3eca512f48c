"""Every schedule twice: what is decided by anything but design, workload and seed is found; an accident is none of that."""

from __future__ import annotations

import os
import signal
from contextlib import closing
from pathlib import Path

import pytest

from simrunner.errors import Divergence
from simrunner.runtime.database import Database
from simrunner.runtime.performance import Request
from simrunner.search.campaign import Campaign, request_of
from simrunner.search.coordinator import Assignment, Part, Theatre
from simrunner.search.explorer import Played
from simrunner.search.talk import Begin, Run
from simrunner.store.schedules import ScheduleResult
from tests.runtime.runs import ROOT, design_folder
from tests.search.test_theatre import children

CLAIM = (ROOT / "sql/reference/claim.sql").read_text()
ORDER = "ORDER BY priority DESC, available_at, created_at, id"


class Unlucky(Theatre):
    """Kills an actor before its second schedule, as somebody from outside might."""

    played = 0

    def play(self, request: Request, number: int) -> Played:
        self.played += 1
        if self.played == 2:
            os.kill(children()[0], signal.SIGKILL)
        return super().play(request, number)


def rechecked(
    theatre: type[Theatre], database: Database, design: str | Path, folder: Path, schedules: int
) -> list[ScheduleResult]:
    campaign = Campaign("smoke", str(design), kills=0, recheck=True)
    base = request_of(campaign)
    begin = Begin(str(folder), "2026-09-22T06:00:00+00:00", 0, 40)
    with (
        closing(theatre(database, base, 0)) as stage,
        closing(Part(Assignment(0, campaign, base, None, ()), stage, begin)) as part,
    ):
        return [result for number in range(schedules) if (result := part.run(Run(number, ()))) is not None]


def test_an_order_that_hangs_on_transaction_ids_is_found(database: Database, tmp_path: Path) -> None:
    by_chance = CLAIM.replace(ORDER, "ORDER BY md5(id::text || pg_current_xact_id()::text)")
    design = design_folder(tmp_path, {"claim": by_chance})
    with pytest.raises(Divergence, match="gave two histories when it was run twice"):
        rechecked(Theatre, database, design, tmp_path, 10)


def test_an_actor_that_died_is_no_difference(database: Database, tmp_path: Path) -> None:
    results = rechecked(Unlucky, database, "reference", tmp_path, 2)
    assert [result.verdict for result in results] == ["valid", "valid"]
