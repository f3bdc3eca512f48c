"""A sample of `make hostile` in the suite: the same attempts, fewer of them, the smallest failing one shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from simrunner.runtime.cluster import Cluster
from tests.hostile.attempts import attempts
from tests.hostile.kinds import CLUSTER, KINDS, Kind
from tests.hostile.seeds import Seeds
from tests.hostile.trying import Attempt, refusal

INPUTS, INPUTS_PLAYED = 30, 8


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory, cluster: Cluster) -> Iterator[Seeds]:
    CLUSTER.append(cluster)
    yield Seeds(tmp_path_factory.mktemp("seeds"))
    CLUSTER.clear()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_it_works_or_is_refused_with_its_place(kind: Kind, seeds: Seeds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    refused = []

    @settings(
        max_examples=INPUTS_PLAYED if kind.played else INPUTS,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(attempts(kind, kind.inputs(seeds)))
    def each(attempt: Attempt) -> None:
        refused.append(refusal(kind, attempt, tmp_path) is not None)

    each()
    assert any(refused)
