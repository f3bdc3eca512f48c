"""The whole examination: the machine, then the server, then a design on that server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from simrunner.errors import EnvironmentFailure
from simrunner.model.design import Design
from simrunner.model.remark import Level, Remark
from simrunner.model.workload import Workload
from simrunner.runtime import external, libpq, server
from simrunner.runtime.account import cache_folder, server_account
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.database import create
from simrunner.runtime.doctor.contract import left_there, outside_contract, surroundings
from simrunner.runtime.doctor.folders import examine_folder
from simrunner.runtime.doctor.leftovers import leftovers
from simrunner.runtime.doctor.packages import missing, needed, versions
from simrunner.runtime.doctor.trial import try_design

_RUN_ID = "doctor"


@dataclass
class Examination:
    """What was seen."""

    facts: dict[str, str] = field(default_factory=dict)
    environment: list[Remark] = field(default_factory=list)
    design: list[Remark] = field(default_factory=list)
    """What the server has against the design."""


def examine(results: Path, dsn: str | None, major: int, tried: tuple[Design, Workload] | None) -> Examination:
    """Look at the machine and at the server behind a DSN, or an embedded one of the major version; try a design on it.

    A failure of the machine or the server is a remark, not an exception. Raises InputError for a DSN that cannot be read.
    """
    packages = needed(embedded=dsn is None)
    seen = Examination(dict(versions(packages)), missing(packages))
    seen.environment += examine_folder("results", results)
    if dsn is None:
        _embedded(seen, major, tried)
    else:
        _external(seen, dsn, tried)
    return seen


def may_signal(pid: int) -> bool:
    """Whether a process may be stopped and continued by us; it notices nothing of the question (kill(2), signal 0)."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return False
    return True


def _embedded(seen: Examination, major: int, tried: tuple[Design, Workload] | None) -> None:
    try:
        cache = cache_folder()
        seen.facts["cache"] = str(cache)
        seen.environment += examine_folder("cache", cache)
        seen.environment += leftovers(server_account())
        with server.embedded(major) as cluster:
            _use(seen, cluster, tried)
    except EnvironmentFailure as error:
        remedy = "mend what the message names, or use a server of your own with --dsn"
        seen.environment.append(Remark(Level.ERROR, "server-fails", str(error), remedy, f"embedded PostgreSQL {major}"))


def _external(seen: Examination, dsn: str, tried: tuple[Design, Workload] | None) -> None:
    try:
        with external.look(dsn) as found:
            seen.environment += outside_contract(found.cluster, surroundings(found.guard))
            seen.environment += left_there(found.guard)
        with external.connect(dsn) as cluster:
            _use(seen, cluster, tried)
    except EnvironmentFailure as error:
        seen.environment.append(Remark(Level.ERROR, "server-fails", str(error), "mend what the message names", "--dsn"))


def _use(seen: Examination, cluster: Cluster, tried: tuple[Design, Workload] | None) -> None:
    """Create a database as a run would, and drop it."""
    seen.facts["server"] = cluster.version_text.partition(" on ")[0]
    seen.facts["superuser"] = "yes" if cluster.superuser else "no"
    with create(cluster, _RUN_ID) as own:
        connection = libpq.connect(own.conninfo(_RUN_ID))
        try:
            seen.environment += _signalled(cluster, connection.backend_pid)
        finally:
            connection.finish()
        if tried is not None:
            seen.design += try_design(own, *tried)


def _signalled(cluster: Cluster, backend_pid: int) -> Iterator[Remark]:
    if cluster.can_signal_backends and not may_signal(backend_pid):
        yield Remark(
            Level.ERROR,
            "backends-not-signalled",
            "this account may not stop and continue the server's processes, so a schedule in which workers wait cannot be run",
            "allow signals to processes of other accounts (in a container: CAP_KILL), or run as an ordinary user",
        )
