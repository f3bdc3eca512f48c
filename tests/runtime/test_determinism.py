"""Same design, workload and seed: one history, whatever the database, the load and the luck of the scheduler."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from simrunner.model.tape import WAKE
from simrunner.runtime import server
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.coordinator import Request
from simrunner.runtime.database import Database, create
from tests.runtime.runs import FAULTS, ROOT, design_folder, request, run, workload_file

CROWDED = {"workers": "3", "jobs": "2", "ghost_operations": ""}
"""Three workers for two jobs: with a claim that takes no lock they wait for each other."""
CROWDED_SEED = 19
"""Its schedule has two waiters behind one transaction, both freed by its end."""
TIES = {
    "jobs": "24",
    "workers": "1",
    "recoverers": "0",
    "ghost_operations": "",
    "batch": "8",
    "safety.rounds": "1",
    "liveness.rounds": "1",
}
"""One worker that claims 16 of 24 jobs, between which only their places on the page decide."""


@contextmanager
def load_on_every_core() -> Iterator[None]:
    """Keep all cores busy; a child ends by itself if the test dies."""
    children = []
    for _ in range(os.cpu_count() or 1):
        pid = os.fork()
        if pid == 0:
            parent = os.getppid()
            while os.getppid() == parent:
                sum(range(10_000))
            os._exit(0)
        children.append(pid)
    try:
        yield
    finally:
        for pid in children:
            os.kill(pid, 9)
            os.waitpid(pid, 0)


def ties(tmp_path: Path, *, reuse: bool = False) -> Request:
    """Claims without a tie-breaker, and without the index that would give ties an order after all."""
    schema = (ROOT / "sql/reference/schema.sql").read_text()
    index = schema[schema.index("-- Mirrors the predicate") : schema.index("CREATE TABLE job_events")]
    unfinished = 'removes = ["effect", "complete"]\n'
    design = design_folder(tmp_path, {"schema": schema.replace(index, "")}, unfinished, "variants/partial-order")
    return request(workload_file(tmp_path, "smoke", [(FAULTS, "")]), design, settings=TIES, reuse=reuse)


def delete_sql(database: Database, tables: Sequence[str]) -> str:
    """The reset that restores the rows, but not their places."""
    return "".join(f"DELETE FROM {table};" for table in sorted(tables, key=lambda table: "queue_jobs" in table))


def hashes(cluster: Cluster, results: Path, *wanted: Request) -> list[str]:
    """The history of each request, each in a database of its own."""
    found = []
    for one in wanted:
        with create(cluster, "same") as database:
            found.append(run(database, results, one).sha256)
    return found


@pytest.mark.parametrize("strategy", ["random", "round-robin"])
def test_one_seed_is_one_history(cluster: Cluster, tmp_path: Path, strategy: str) -> None:
    wanted = request("smoke", seed=5, strategy=strategy)
    assert len(set(hashes(cluster, tmp_path, wanted, wanted, wanted))) == 1


def test_one_seed_is_one_history_on_another_cluster(cluster: Cluster, tmp_path: Path) -> None:
    """Another data directory has other xids, oids and backend pids: none of them may reach the history."""
    wanted = request("smoke", "mutants/select-then-update", seed=1)
    with server.embedded() as other:
        assert other.postmaster_pid != cluster.postmaster_pid
        assert len({*hashes(cluster, tmp_path, wanted), *hashes(other, tmp_path, wanted)}) == 1


def test_seeds_differ(cluster: Cluster, tmp_path: Path) -> None:
    wanted = [request("smoke", seed=seed) for seed in (1, 2, 3)]
    assert len(set(hashes(cluster, tmp_path, *wanted))) == 3


def test_waiters_and_load_change_nothing(cluster: Cluster, tmp_path: Path) -> None:
    """Statements that wait, two waiters that one COMMIT frees, and busy cores: still one history."""
    wanted = request("smoke", "mutants/select-then-update", seed=CROWDED_SEED, settings=CROWDED)
    with create(cluster, "quiet") as database:
        quiet = run(database, tmp_path, wanted)
    assert any(decision.kind == WAKE for decision in quiet.decisions())
    with load_on_every_core():
        busy = hashes(cluster, tmp_path, *[wanted] * 3)
    assert {quiet.sha256, *busy} == {quiet.sha256}


def test_ties_fall_alike_in_a_reused_database_and_in_fresh_ones(cluster: Cluster, tmp_path: Path) -> None:
    """Without a tie-breaker the physical state decides who is claimed: a reset has to restore it."""
    wanted = ties(tmp_path)
    found = set(hashes(cluster, tmp_path, *[wanted] * 20))
    again = ties(tmp_path, reuse=True)
    with create(cluster, "reused") as database:
        found.add(run(database, tmp_path, wanted).sha256)
        found.update(run(database, tmp_path, again).sha256 for _ in range(399))
    assert len(found) == 1


def test_a_reset_by_delete_would_be_noticed(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail: with the rows restored but not their places, ties fall differently."""
    found = {run(database, tmp_path, ties(tmp_path)).sha256}
    monkeypatch.setattr(Database, "truncate_sql", delete_sql)
    again = ties(tmp_path, reuse=True)
    found.update(run(database, tmp_path, again).sha256 for _ in range(20))
    assert len(found) > 1
