"""A command that runs an embedded server, for tests that kill it: `python -m tests.runtime.starter CACHE`.

Prints the host of the server's socket and the pid of its postmaster, then waits for its standard input to end.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import psycopg

from simrunner.runtime import account
from simrunner.runtime.database import create
from simrunner.runtime.server import embedded


def main(cache: str) -> None:
    account.ROOT_CACHE = Path(cache)
    os.environ["XDG_CACHE_HOME"] = cache
    with (
        embedded() as cluster,
        create(cluster, "starter") as database,
        psycopg.connect(database.conninfo("worker-a.1"), autocommit=True) as connection,
    ):
        if "stopped-backend" in sys.argv:
            os.kill(connection.info.backend_pid, signal.SIGSTOP)
        print(cluster.parameters["host"], cluster.postmaster_pid, sep="\n", flush=True)  # noqa: T201
        sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1])
