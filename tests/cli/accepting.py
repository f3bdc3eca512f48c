"""A program that accepts a design with a few experiments of the playbook: DESIGN RESULTS EXPERIMENT... ."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from simrunner.cli.accept import accepted
from simrunner.cli.endings import _ending
from simrunner.report.acceptance.plan import plan
from simrunner.report.acceptance.playbook import PLAYBOOK
from simrunner.search.play import server_for
from tests.cli.invoking import Ended

ROOT = Path(__file__).parents[2]


def accept(design: str | Path, results: Path, *experiments: str, dsn: str | None = None) -> Ended:
    """Accept a design in a process of its own, which forks its actors."""
    words = [sys.executable, "-m", "tests.cli.accepting", str(design), str(results), dsn or "", *experiments]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return Ended(done.returncode, done.stdout, done.stderr)


def main(design: str, results: str, dsn: str, *experiments: str) -> int:
    wanted = [one for one in PLAYBOOK if one.workload in experiments]
    return accepted(plan(design, 1, wanted), server_for(dsn or None, 18), Path(results), as_json=False)


if __name__ == "__main__":
    sys.exit(_ending(lambda: main(*sys.argv[1:])))
