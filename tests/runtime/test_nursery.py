"""Actors are forked beside the coordinator and are its children all the same."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from simrunner.errors import ServerError
from simrunner.runtime import process
from simrunner.runtime.database import Database
from simrunner.runtime.nursery import Nursery
from simrunner.runtime.process import HandSpec
from simrunner.search.request import prepare

SMOKE = prepare("smoke", "reference", {}, seed=1, mode="stepped", strategy=None)


def children() -> set[int]:
    """Processes of which this one is the parent, as the system sees it (proc_pid_task(5))."""
    return {int(pid) for pid in Path("/proc/self/task", str(os.getpid()), "children").read_text().split()}


@pytest.fixture
def nursery(database: Database) -> Iterator[Nursery]:
    before = children()
    opened = Nursery(HandSpec(database.conninfo("actor"), SMOKE.design, SMOKE.workload, database.superuser))
    yield opened
    opened.close()
    assert children() == before


def test_an_actor_is_a_child_of_the_coordinator_and_not_of_who_forked_it(nursery: Nursery) -> None:
    nursery.ask()
    one = nursery.take()
    assert one.pid in children()
    assert one.started == process.start_time(one.pid)
    report = one.gate.receive()
    assert report is not None
    assert report.backend_pid
    assert process.kill(one) == "SIGKILL"
    one.gate.close()


def test_what_was_asked_for_and_not_taken_ends_with_it(nursery: Nursery) -> None:
    for _ in range(3):
        nursery.ask()
    assert nursery.asked == 3  # the fixture looks at what is left


def test_one_that_was_killed_is_told(nursery: Nursery) -> None:
    (own,) = children() - {one for one in children() if b"postgres" in Path(f"/proc/{one}/cmdline").read_bytes()}
    os.kill(own, signal.SIGKILL)
    process.has_ended(own, 1000.0)
    with pytest.raises(ServerError, match="the process that forks the actors has ended"):
        nursery.ask()
