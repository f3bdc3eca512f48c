"""Analyze-at: ANALYZE of the state tables between two steps, as autovacuum does it at a time that nobody chooses.

The planner then knows the queue as it is at that moment, almost empty say, and plans by that until the next ANALYZE.
https://www.postgresql.org/docs/18/sql-analyze.html. The statistics are the same each time up to 30,000 rows.
"""

from __future__ import annotations

from random import Random

from simrunner.faults.fault import Fault, drawn_from
from simrunner.model.operations import SEARCHED_CRASH_POINTS
from simrunner.model.tape import ANALYZE_AT
from simrunner.model.workload import FaultSpec


def drawn(stream: Random) -> FaultSpec:
    """An ANALYZE while a worker stands at a crash point."""
    return FaultSpec(ANALYZE_AT, drawn_from(stream, SEARCHED_CRASH_POINTS))


FAULT = Fault(ANALYZE_AT, "ANALYZE of the state tables between two steps", drawn, of_actor=False)
