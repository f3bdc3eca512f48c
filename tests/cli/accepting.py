"""A program that accepts a design with a few experiments of the playbook: DESIGN RESULTS EXPERIMENT..."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from simrunner.cli.accept import accepted
from simrunner.cli.endings import ending
from simrunner.report.acceptance.plan import plan
from simrunner.report.acceptance.playbook import PLAYBOOK
from simrunner.search.play import server_for
from tests.cli.invoking import Ended, begun, ended_alone

DSN = "SIMRUNNER_TESTS_DSN"
"""Variable with the --dsn of the acceptance."""
ROOT = Path(__file__).parents[2]


def start(design: str | Path, results: Path, *experiments: str, dsn: str | None = None) -> subprocess.Popen[str]:
    """Begin to accept a design in a process of its own, which forks its actors."""
    words = [sys.executable, "-m", "tests.cli.accepting", str(design), str(results), *experiments]
    return begun(words, ROOT, {} if dsn is None else {DSN: dsn})


def accept(design: str | Path, results: Path, *experiments: str, dsn: str | None = None) -> Ended:
    """Accept a design and wait for the end."""
    return ended_alone(start(design, results, *experiments, dsn=dsn))


def main(design: str, results: str, *experiments: str) -> int:
    wanted = [one for one in PLAYBOOK if one.workload in experiments]
    return accepted(plan(design, 1, wanted), server_for(os.environ.get(DSN), 18), Path(results), as_json=False)


if __name__ == "__main__":
    sys.exit(ending(lambda: main(*sys.argv[1:])))
