"""isolationtester on the same interleavings, on the same server: the peer to which schedules are compared."""

from __future__ import annotations

import os
import subprocess
from itertools import combinations
from pathlib import Path

from simrunner.runtime.account import cache_folder, server_account
from simrunner.runtime.binaries import binaries
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.isolation.database import session_conninfo
from tests.bench.clock import timed

_PGXS = Path("lib/postgresql/pgxs/src/test/isolation/isolationtester")
"""Below an installation of PostgreSQL, where it keeps what extensions are built and tested with."""
_SYSTEM = "usr/lib/postgresql/*/lib/pgxs/src/test/isolation/isolationtester"
SKIP, WAIT = "FOR UPDATE SKIP LOCKED", "FOR UPDATE"
_SETUP = """
setup {
  CREATE TABLE jobs (id integer PRIMARY KEY, payload text NOT NULL, state text NOT NULL);
  INSERT INTO jobs VALUES (1, 'payload-1', 'ready'), (2, 'payload-2', 'ready');
}
teardown { DROP TABLE jobs; }
"""
_SESSION = """
session s{number}
setup {{ BEGIN; }}
step s{number}a {{ SELECT id, payload, state FROM jobs ORDER BY id LIMIT 1 {locking}; }}
step s{number}b {{ SELECT id, payload, state FROM jobs ORDER BY id LIMIT 1 {locking}; }}
step s{number}c {{ COMMIT; }}
"""


def find(major: int) -> Path | None:
    """isolationtester of the embedded server, or of one that the system has; None: neither has one."""
    own = binaries(major, server_account(), cache_folder()).parent / _PGXS
    return next((path for path in (own, *sorted(Path("/").glob(_SYSTEM))) if os.access(path, os.X_OK)), None)


def spec(locking: str, times: int) -> str:
    """A spec of two sessions with three steps each: all 20 interleavings, `times` times over, so that connecting costs nothing.

    Where statements wait, only the interleavings in which no session has to take a step while it is blocked are possible.
    """
    sessions = "".join(_SESSION.format(number=number, locking=locking) for number in (1, 2))
    orders = [order for order in _orders() if locking == SKIP or order[:3] in (["s1a", "s1b", "s2a"], ["s2a", "s2b", "s1a"])]
    orders = [order for order in orders if locking == SKIP or order[3] == f"{order[0][:2]}c"]
    return _SETUP + sessions + "\n".join("permutation " + " ".join(order) for order in orders * times) + "\n"


def rate(program: Path, cluster: Cluster, database: str, text: str) -> float:
    """Permutations that isolationtester runs in a second."""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(program.parents[6])}
    command = [str(program), session_conninfo(cluster, database, "isolation/bench")]
    printed: list[str] = []

    def run() -> None:
        done = subprocess.run(command, input=text, capture_output=True, text=True, env=environment, check=True)
        printed.append(done.stdout)

    seconds = timed(run)
    return printed[0].count("starting permutation") / seconds


def _orders() -> list[list[str]]:
    first, second = ["s1a", "s1b", "s1c"], ["s2a", "s2b", "s2c"]
    orders = []
    for places in combinations(range(6), 3):
        one, other = iter(first), iter(second)
        orders.append([next(one) if place in places else next(other) for place in range(6)])
    return orders
