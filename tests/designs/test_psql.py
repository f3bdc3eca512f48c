"""Every file of the reference runs unchanged in psql, its parameters given as psql variables."""

from __future__ import annotations

import subprocess

from simrunner.config import load_design
from simrunner.runtime import clock
from simrunner.runtime.account import cache_folder, server_account
from simrunner.runtime.binaries import binaries
from simrunner.runtime.database import Database
from tests.designs.queue import AVAILABLE_US, VALUES

ORDER = (
    *("schema", "seed", "enqueue", "claim", "heartbeat", "effect", "complete"),
    *("backlog", "fail", "release", "recover", "reprioritize", "amend", "report", "jobs", "eligible", "audit"),
)


def test_psql_runs_every_file(database: Database) -> None:
    design = load_design("reference")
    assert sorted(ORDER) == sorted(design.operations)
    psql = binaries(database.cluster.major, server_account(), cache_folder()) / "psql"
    variables = [word for name, value in VALUES.items() for word in ("-v", f"{name}={value}")]
    now = ("-c", clock.set_transaction_time(AVAILABLE_US))
    command = [str(psql), "-X", "-At", "-v", "ON_ERROR_STOP=1", *variables, "-v", "priority=1", "-v", "job_id=100", *now]
    files = [word for name in ORDER for word in ("-f", f"{design.folder}/{design.operations[name].path}")]
    done = subprocess.run(
        [*command, "-d", database.conninfo("psql"), *files], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    claimed = [line.split("|")[:3] for line in done.stdout.splitlines() if line.startswith("100|payload|")]
    assert claimed == [["100", "payload", "worker-a.1"]]
    assert "100|1|worker-a.1/1|claimed|done" in done.stdout.splitlines()
