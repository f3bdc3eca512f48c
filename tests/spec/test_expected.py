"""Specs on a real server: the output is, byte for byte, what PostgreSQL's isolationtester printed for them on PostgreSQL 18."""

from __future__ import annotations

from pathlib import Path

import pytest

from simrunner.runtime.cluster import Cluster
from simrunner.runtime.isolation.run import run_spec
from simrunner.spec.plan import read_plan

HERE = Path(__file__).parent
SPECS = sorted((HERE / "specs").glob("*.spec"))


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_output(path: Path, cluster: Cluster) -> None:
    written = bytearray()
    run_spec(read_plan(path), cluster, written.extend)
    assert written.decode() == (HERE / "expected" / f"{path.stem}.out").read_text()


def test_every_expected_output_has_its_spec() -> None:
    assert [path.stem for path in sorted((HERE / "expected").glob("*.out"))] == [path.stem for path in SPECS]
