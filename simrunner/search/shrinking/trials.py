"""Tries of one run's smaller cases on one database: a stage is kept as long as the workload's size stays the same.

Must not import numpy, pandas or pyarrow: actors are forked here.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from simrunner.config import load_workload
from simrunner.errors import WorkloadError
from simrunner.model.tape import Decision
from simrunner.model.workload import Workload
from simrunner.runtime.actors import lanes_of
from simrunner.runtime.database import Database
from simrunner.runtime.performance import Request
from simrunner.runtime.stage import Stage
from simrunner.search.explorer import Played, play
from simrunner.search.fitting import fitted
from simrunner.search.request import check_workload
from simrunner.search.shrinking.case import Case, Size, settings_for
from simrunner.strategies.decider import Decider
from simrunner.strategies.deviating import Deviating


class Trials:
    """Runs cases. `original` is the request of the run that is made small."""

    def __init__(self, original: Request, workload_path: str, database: Database) -> None:
        self._original = original
        self._path = workload_path
        self._database = database
        self._stage: Stage | None = None
        self._on_stage: tuple[Workload, bool] | None = None

    def request(self, case: Case, decisions: Sequence[Decision] | None = None) -> Request:
        """Return the request that runs a case, by its deviations or by a tape. Raises WorkloadError for a size that cannot be."""
        decider = Deviating(case.deviations) if decisions is None else None
        original = replace(self._original, workload=self.workload(case.size), coalesce=case.coalesced)
        return replace(original, strategy="round-robin", decisions=decisions, decider=decider)

    def workload(self, size: Size) -> Workload:
        """Return the workload in another size. Raises WorkloadError."""
        if not self._original.workload.script:
            workload = load_workload(self._path, settings_for(size, self._original.workload))
            check_workload(workload)
            return fitted(workload, self._original.design)
        return self._original.workload

    def play(self, case: Case) -> Played | None:
        """Run a case; None if the workload cannot have that size."""
        with suppress(WorkloadError):
            return self.play_request(self.request(case))
        return None

    def play_by(self, decider: Decider, *, coalesce: bool) -> Played:
        """Run the workload in its full size as a decider says."""
        return self.play_request(replace(self._original, decider=decider, coalesce=coalesce))

    def play_request(self, request: Request) -> Played:
        """Run a request on the stage for it."""
        stage = self._stage_for(request.workload, request.coalesce)
        stage.stock(len(lanes_of(request.workload)))
        played = play(stage, request, 0)
        if played.final is None:  # a step got stuck: what is left on the stage is of no use
            self.close()
        return played

    def close(self) -> None:
        """Give the stage up."""
        if self._stage is not None:
            self._stage.close()
            self._stage = None

    def _stage_for(self, workload: Workload, coalesce: bool) -> Stage:
        wanted = (workload, coalesce)
        if self._stage is None or wanted != self._on_stage:
            reuse = self._on_stage is not None
            self.close()
            self._stage = Stage(self._database, self._original.design, workload, reuse=reuse, keep=True, coalesce=coalesce)
            self._on_stage = wanted
        return self._stage
