"""Fixtures that need PostgreSQL: one embedded server for all tests of a process, a database of its own for each test."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from simrunner.runtime import server
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.database import Database, create


def pytest_configure() -> None:
    """Hear signals that the caller had ignored, as nohup(1) and background jobs of a shell do: commands would inherit that."""
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if {"cluster", "cache"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("server")
    items.sort(key=lambda item: "tests/torture" not in item.nodeid)  # the longest file first, so that nobody waits for it alone


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    with server.embedded() as cluster:
        yield cluster


@pytest.fixture
def database(cluster: Cluster) -> Iterator[Database]:
    with create(cluster, "test") as database:
        yield database
