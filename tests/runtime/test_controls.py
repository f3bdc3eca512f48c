"""Every control of a shipped workload shows the fault that it is there for: without it the experiment proves nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from simrunner.config import list_workloads, load_workload
from simrunner.runtime.database import Database
from tests.runtime.runs import request, run

CONTROLS = [
    (entry.name, control.design, control.violates)
    for entry in list_workloads()
    for control in load_workload(entry.name).controls
    if control.violates is not None
]


@pytest.mark.parametrize(("workload", "design", "violates"), CONTROLS, ids=lambda value: str(value).replace("/", "-"))
def test_a_control_fails_as_it_should(database: Database, tmp_path: Path, workload: str, design: str, violates: str) -> None:
    assert run(database, tmp_path, request(workload, design)).verdict().root_cause == violates
