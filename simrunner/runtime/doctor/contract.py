"""What is outside the determinism contract on a server that is not simrunner's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import psycopg

from simrunner.model.remark import Level, Remark
from simrunner.runtime.admin import execute, texts
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.homes import OF_OTHERS, left_databases

_OWN_SERVER = "use the embedded server, or a disposable one"
_SUPERUSER = "name a superuser in --dsn if the server is disposable, or use the embedded one"


class Surroundings(NamedTuple):
    """What a server behind --dsn is like."""

    autovacuum: str
    deadlock_timeout: str
    collation: str
    """Of the named database."""
    strangers: int
    """Sessions of clients that are not simrunner's."""


def surroundings(guard: psycopg.Connection) -> Surroundings:
    """Ask the server."""
    collation = texts(guard, "SELECT datcollate FROM pg_database WHERE datname = current_database()")[0]
    strangers = execute(guard, f"SELECT count(*) FROM pg_stat_activity WHERE {OF_OTHERS}")[0][0]
    return Surroundings(
        texts(guard, "SHOW autovacuum")[0], texts(guard, "SHOW deadlock_timeout")[0], collation, int(str(strangers))
    )


def outside_contract(cluster: Cluster, around: Surroundings) -> list[Remark]:
    """Return what design, workload and seed do not fix on this server, and what would."""
    creates = cluster.named is None
    points = (
        (
            not cluster.superuser,
            "deadlock-in-real-time",
            f"deadlock_timeout stays at {around.deadlock_timeout}: in a deadlock, who is cancelled depends on real time",
            _SUPERUSER,
        ),
        (
            not cluster.superuser,
            "statistics-stay",
            "the planner's statistics cannot be removed between schedules: left-over ones may change a plan",
            _SUPERUSER,
        ),
        (
            not (cluster.superuser and creates),
            "clock-in-schema",
            "the virtual clock stands in a schema before pg_catalog: calls such as pg_catalog.now() and functions with a"
            " search_path of their own read the real clock",
            _SUPERUSER if creates else "name no database in --dsn, so that simrunner creates its own as superuser",
        ),
        (
            not cluster.can_signal_backends,
            "waiters-not-chosen",
            "backends of this server cannot be stopped and continued: which of several waiters goes on is luck, and a schedule"
            " where it matters is marked not deterministic",
            "use the embedded server where several workers wait for one row",
        ),
        (
            around.autovacuum == "on",
            "autovacuum",
            "autovacuum may work on a run's tables at any time: it moves what a scan finds first",
            _OWN_SERVER,
        ),
        (
            around.strangers > 0,
            "server-shared",
            f"{around.strangers} sessions of others: their open transactions keep dead rows from being removed everywhere",
            _OWN_SERVER,
        ),
        (
            not creates and around.collation not in ("C", "POSIX"),
            "collation",
            f"the collation of the named database is {around.collation}: text is ordered as that version of the library does it",
            "create the database with TEMPLATE template0 LOCALE 'C', or name none",
        ),
    )
    return [Remark(Level.HINT, name, message, remedy, "--dsn") for holds, name, message, remedy in points if holds]


def left_there(guard: psycopg.Connection) -> Iterator[Remark]:
    """Yield databases that killed commands left on the server."""
    for name, is_marked in left_databases(guard):
        if is_marked:
            yield Remark(
                Level.HINT,
                "leftover-database",
                "a killed command left this database",
                "nothing need be done: each command with this --dsn that names no database drops it, this one too",
                name,
            )
        else:
            yield Remark(
                Level.HINT,
                "unmarked-database",
                "this database is named like one of simrunner's but does not bear its mark, so it is never touched",
                "drop it yourself if it is not yours: a command may have been killed in the moment it was created",
                name,
            )
