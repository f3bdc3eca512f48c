"""Who takes turns shares a processor; who works beside others has one of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from simrunner.errors import ServerError
from simrunner.model.workload import Workload
from simrunner.runtime import processors
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.database import Database
from simrunner.runtime.processors import Gathering
from simrunner.runtime.stage import Stage
from simrunner.search.request import prepare

SMOKE = prepare("smoke", "reference", {}, seed=1, mode="stepped", strategy=None)
ALL = os.sched_getaffinity(0)


@pytest.fixture(autouse=True)
def anywhere() -> Iterator[None]:
    yield
    assert os.sched_getaffinity(0) == ALL


def test_a_stage_is_on_one_processor(database: Database) -> None:
    with closing(Stage(database, SMOKE.design, SMOKE.workload)) as stage:
        one = stage.cast()
        (here,) = os.sched_getaffinity(0)
        assert [os.sched_getaffinity(pid) for pid in (one.pid, *one.backends, stage.session.backend_pid)] == [{here}] * 3
        stage.dismiss(one)


def test_a_stage_that_finds_no_server_lets_go_of_its_processor(database: Database, tmp_path: Path) -> None:
    """The fixture looks that this process may be anywhere again."""
    gone = Database(replace(database.cluster, parameters={"host": str(tmp_path), "port": "1"}), database.home, "design")
    with pytest.raises(ServerError, match="cannot be reached"):
        Stage(gone, SMOKE.design, SMOKE.workload)


def test_where_claims_race_it_is_on_all(database: Database) -> None:
    workload: Workload = SMOKE.workload
    with closing(Stage(database, SMOKE.design, workload, concurrent=True)) as stage:
        one = stage.cast()
        assert [os.sched_getaffinity(pid) for pid in (0, one.pid, *one.backends)] == [ALL] * 3
        stage.dismiss(one)


def test_coordinators_at_work_at_the_same_time_have_different_ones(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As far as there are any: who comes then shares one. Who ends gives his back."""
    monkeypatch.setattr(processors, "cache_folder", lambda: tmp_path)

    def taken() -> tuple[Gathering, frozenset[int]]:
        gathering = Gathering(cluster)
        here = frozenset(os.sched_getaffinity(0))
        gathering.leave()
        return gathering, here

    begun = [taken() for _ in ALL]
    assert {here for _, here in begun} == {frozenset([number]) for number in ALL}
    late, shared = taken()
    assert len(shared) == 1
    begun[0][0].dissolve()
    next_one, again = taken()
    assert again == begun[0][1]
    for gathering in (late, next_one, *(gathering for gathering, _ in begun)):
        gathering.dissolve()


def test_a_server_that_was_crashed_and_started_again_is_on_all(database: Database) -> None:
    with closing(Stage(database, SMOKE.design, SMOKE.workload)) as stage:
        (here,) = os.sched_getaffinity(0)
        stage.crash()
        backend = Path(f"/proc/{stage.session.backend_pid}/stat").read_text()
        server = int(backend.rpartition(")")[2].split()[1])
        assert os.sched_getaffinity(server) == ALL
        assert os.sched_getaffinity(0) == os.sched_getaffinity(stage.session.backend_pid) == {here}
