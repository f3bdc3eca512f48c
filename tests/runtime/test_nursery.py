"""Actors are forked beside the coordinator and are its children all the same."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from simrunner.errors import ServerError
from simrunner.runtime import nursery, process
from simrunner.runtime.database import Database
from simrunner.runtime.nursery import Nursery
from simrunner.runtime.process import HandSpec, Process
from simrunner.search.request import prepare

SMOKE = prepare("smoke", "reference", {}, seed=1, mode="stepped", strategy=None)


class Opened(NamedTuple):
    """A nursery and its process."""

    nursery: Nursery
    pid: int


def children() -> set[int]:
    """Processes of which this one is the parent, as the system sees it (proc_pid_task(5))."""
    return {int(pid) for pid in Path("/proc/self/task", str(os.getpid()), "children").read_text().split()}


@pytest.fixture
def opened(database: Database) -> Iterator[Opened]:
    before = children()
    one = Nursery(HandSpec(database.conninfo("actor"), SMOKE.design, SMOKE.workload, database.superuser))
    (pid,) = children() - before
    yield Opened(one, pid)
    one.close()
    assert children() == before


def taken(of: Nursery) -> Process:
    """A process that is connected."""
    of.ask()
    one = of.take()
    report = one.gate.receive()
    assert report is not None
    assert report.backends
    return one


def kill(*processes: Process) -> None:
    for one in processes:
        assert process.kill(one) == "SIGKILL"
        one.gate.close()


def test_an_actor_is_a_child_of_the_coordinator_and_not_of_who_forked_it(opened: Opened) -> None:
    one = taken(opened.nursery)
    assert one.pid in children() - {opened.pid}
    assert one.started == process.start_time(one.pid)
    kill(one)


def test_what_was_asked_for_and_not_taken_ends_with_it(opened: Opened) -> None:
    for _ in range(3):
        opened.nursery.ask()
    assert opened.nursery.asked == 3  # the fixture looks at what is left


def test_one_that_was_killed_is_replaced_and_the_actors_live_on(opened: Opened) -> None:
    first = taken(opened.nursery)
    os.kill(opened.pid, signal.SIGKILL)
    second = taken(opened.nursery)
    assert {first.pid, second.pid} <= children()
    kill(first, second)


def test_one_that_is_killed_while_processes_are_asked_for(opened: Opened) -> None:
    os.kill(opened.pid, signal.SIGSTOP)
    opened.nursery.ask()
    opened.nursery.ask()
    os.kill(opened.pid, signal.SIGKILL)
    first, second = opened.nursery.take(), opened.nursery.take()
    assert len({first.pid, second.pid} & children()) == 2
    assert opened.nursery.asked == 0
    kill(first, second)


def test_one_that_always_ends_is_told(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nursery, "_serve", lambda *_: None)
    os.kill(opened.pid, signal.SIGKILL)
    opened.nursery.ask()
    with pytest.raises(ServerError, match="the process that forks the actors ends again and again"):
        opened.nursery.take()


def test_a_machine_whose_clone_is_not_known_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nursery, "_CLONE", 0)
    with pytest.raises(ServerError, match="actors cannot be forked on"):
        Nursery(HandSpec("", SMOKE.design, SMOKE.workload, superuser=True))


def test_one_whose_coordinator_is_killed_ends_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be in the middle of a fork when its coordinator goes; what it wrote then would reach the user."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def fork() -> int:
        ours.close()
        return os.getpid()

    monkeypatch.setattr(nursery, "_fork_sibling", fork)
    with theirs:
        ours.send(b".")
        nursery._serve(HandSpec("", SMOKE.design, SMOKE.workload, superuser=True), theirs, os.getpid())
    assert ours.fileno() == -1
