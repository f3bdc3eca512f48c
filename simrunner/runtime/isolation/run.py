"""Runs a spec from its first permutation to its last."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from simrunner.runtime import libpq
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.isolation.blocks import Blocks
from simrunner.runtime.isolation.database import plain_database, session_conninfo
from simrunner.runtime.isolation.locks import Locks
from simrunner.runtime.isolation.player import Player
from simrunner.runtime.isolation.session import Session, Write, encoded
from simrunner.runtime.processors import Gathering
from simrunner.spec.plan import Plan

_CONTROL = "control connection"


def run_spec(plan: Plan, cluster: Cluster, write: Write) -> None:
    """Run every permutation in a database of its own and write what isolationtester prints.

    Raises InputError for a spec that cannot be run as it is written, EnvironmentFailure where the server is the reason.
    """
    for name in plan.unused:
        write(b"unused step name: " + encoded(name) + b"\n")
    write(b"Parsed test spec with %d sessions\n" % len(plan.spec.sessions))
    with plain_database(cluster) as database, _connected(plan, cluster, database, write) as (control, sessions):
        locks = Locks(control.connection, [session.pid for session in sessions])
        player = Player(plan, sessions, locks, Blocks(plan, control, sessions, write), write)
        for moves in plan.permutations():
            player.play(moves)


@contextmanager
def _connected(plan: Plan, cluster: Cluster, database: str, write: Write) -> Iterator[tuple[Session, list[Session]]]:
    """Connect for the time of the block. Sessions are named in application_name as pg_isolation_regress has them named."""
    opened: list[Session] = []
    gathering = Gathering(cluster)
    try:
        for name in (_CONTROL, *(session.name for session in plan.spec.sessions)):
            conninfo = session_conninfo(cluster, database, f"isolation/{plan.name}/{name}")
            opened.append(Session(name, libpq.connect(conninfo), write if opened else None))
        gathering.join(*(session.pid for session in opened))
        yield opened[0], opened[1:]
    finally:
        gathering.dissolve()
        for session in opened:
            session.connection.finish()
