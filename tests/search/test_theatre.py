"""A stage that a schedule has left of no use: that schedule is unknown, the next has a new one."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from simrunner.errors import ServerError
from simrunner.limits import LIMITS
from simrunner.runtime import libpq
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.database import Database, create
from simrunner.runtime.performance import Request
from simrunner.runtime.stage import Stage
from simrunner.search import coordinator
from simrunner.search.campaign import Campaign, request_of
from simrunner.search.coordinator import BROKEN_IN_A_ROW_MAX, Theatre
from simrunner.search.explorer import Played, used
from simrunner.search.measuring import measure
from simrunner.search.sources import Seeded
from simrunner.strategies.decider import SeededDecider
from simrunner.strategies.deviating import Noting
from simrunner.strategies.round_robin import RoundRobin
from simrunner.strategies.surveyor import Surveyor
from tests.runtime.runs import ROOT, design_folder

CLAIM = (ROOT / "sql/reference/claim.sql").read_text()
SMALL = {"jobs": "2", "safety.rounds": "1"}


def base_of(design: str | Path) -> Request:
    return request_of(Campaign("smoke", str(design), SMALL))


@pytest.fixture
def impatient() -> Iterator[None]:
    """A step gets stuck after one second; nobody waits longer for a lock."""
    usual = LIMITS.step_seconds, LIMITS.backend_gone_seconds
    _set(1.0, 1.0)
    yield
    _set(*usual)


def _set(step_seconds: float, backend_gone_seconds: float) -> None:
    object.__setattr__(LIMITS, "step_seconds", step_seconds)
    object.__setattr__(LIMITS, "backend_gone_seconds", backend_gone_seconds)


@pytest.mark.usefixtures("impatient")
def test_a_step_that_gets_stuck_makes_its_schedule_unknown(database: Database, tmp_path: Path) -> None:
    """Its statement neither ends nor waits for anybody. The next schedule has a database of its own, and gets as far."""
    base = base_of(design_folder(tmp_path, {"claim": "SELECT pg_sleep(60);\n" + CLAIM}))
    source = Seeded(base, 0)
    with closing(Theatre(database, base, 0)) as theatre:
        results = [theatre.play(source.request(number), number).result for number in range(2)]
    assert [result.verdict for result in results] == ["unknown", "unknown"]
    assert all("neither finished claim:1 nor is blocked" in (result.error or "") for result in results)


@pytest.mark.usefixtures("impatient")
def test_a_strangers_lock_costs_one_schedule(database: Database) -> None:
    base = base_of("reference")
    source = Seeded(base, 0)
    with closing(Theatre(database, base, 0)) as theatre:
        good = theatre.play(source.request(0), 0).result
        stranger = libpq.connect(database.conninfo("stranger"))
        libpq.run(stranger, "BEGIN; LOCK queue_jobs IN EXCLUSIVE MODE")
        locked = theatre.play(source.request(1), 1).result
        assert locked.verdict == "unknown"
        assert "lock timeout" in (locked.error or "")
        again = theatre.play(source.request(0), 0).result
        assert (again.verdict, again.sha256) == ("valid", good.sha256)
        stranger.finish()


def test_an_idle_process_that_was_killed_costs_one_schedule(database: Database) -> None:
    base = base_of("reference")
    source = Seeded(base, 0)
    with closing(Theatre(database, base, 0)) as theatre:
        good = theatre.play(source.request(0), 0).result
        for child in children():
            os.kill(child, signal.SIGKILL)
        broken = theatre.play(source.request(1), 1).result
        assert broken.verdict == "unknown"
        assert "died by itself" in (broken.error or "")
        again = theatre.play(source.request(0), 0).result
        assert (again.verdict, again.sha256) == ("valid", good.sha256)


def test_an_accident_is_told_also_in_a_schedule_that_is_not_sure(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that went beyond a page is run again, but not to hide that somebody died."""
    monkeypatch.setattr(Stage, "is_sure", lambda stage: False)
    base = base_of("reference")
    source = Seeded(base, 0)
    with closing(Theatre(database, base, 0)) as theatre:
        assert theatre.play(source.request(0), 0).result.verdict == "valid"
        for child in children():
            os.kill(child, signal.SIGKILL)
        assert theatre.play(source.request(1), 1).result.verdict == "unknown"


def test_what_a_decider_noted_is_of_the_play_that_counts(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A schedule that is not sure is run again with a copy of its decider: the one that was given has seen the first play."""
    monkeypatch.setattr(Stage, "is_sure", lambda stage: False)
    base = base_of("reference")
    given = Noting(SeededDecider(RoundRobin(0), lambda view: None))
    with closing(Theatre(database, base, 0)) as theatre:
        played = theatre.play(replace(base, decider=given), 0)
    assert played.result.verdict == "valid"
    assert used(played, Noting) is not given
    with pytest.raises(TypeError, match="decided by Noting, not by Surveyor"):
        used(played, Surveyor)


def children() -> list[int]:
    """Our own children that play actors: not the server."""
    found = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    return [int(number) for number in found if "postgres" not in Path(f"/proc/{number}/comm").read_text()]


def test_what_never_works_ends_the_campaign(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is there, but lets no schedule finish."""

    def failing(stage: Stage, request: Request, number: int) -> Played:
        raise ServerError("no")

    base = base_of("reference")
    request = Seeded(base, 0).request(0)
    monkeypatch.setattr(coordinator, "play", failing)
    with closing(Theatre(database, base, 0)) as theatre:
        for number in range(1, BROKEN_IN_A_ROW_MAX):
            assert theatre.play(request, number).result.error == "no"
        with pytest.raises(ServerError, match="no"):
            theatre.play(request, 9)


def test_a_claim_that_ends_its_own_session(cluster: Cluster, tmp_path: Path) -> None:
    """Each time worker-b loses its session by itself: unknown, and the reason says who."""
    sql = "SELECT pg_terminate_backend(pg_backend_pid()) WHERE :'worker_id' LIKE 'worker-b.%';\n"
    base = base_of(design_folder(tmp_path, {"claim": sql + CLAIM}))
    source = Seeded(base, 0)
    with create(cluster, "dying") as database, closing(Theatre(database, base, 1)) as theatre:
        results = [theatre.play(source.request(number), number).result for number in range(3)]
    assert {result.verdict for result in results} == {"unknown"}
    assert all("worker-b lost its session" in (result.error or "") for result in results)


def test_what_is_measured(database: Database) -> None:
    """The longest of round-robin and of one kill at each crash point; the interleavings of two workers with six steps each."""
    base = base_of("reference")
    with closing(Theatre(database, base, 1)) as theatre:
        killing, counted = measure(Campaign("smoke", "reference", SMALL, strategy="exhaustive"), base, theatre.play)
        plain, without = measure(Campaign("smoke", "reference", SMALL, kills=0), base, theatre.play)
    assert killing > plain > 12
    assert (counted, without) == (5518, None)
