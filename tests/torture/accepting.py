"""Accepts the reference with a few experiments, in a lab: `python -m tests.torture.accepting CACHE EXPERIMENT...`."""

from __future__ import annotations

import sys
from pathlib import Path

from simrunner.cli.endings import ending
from simrunner.runtime import account
from tests.cli import accepting

if __name__ == "__main__":
    account.ROOT_CACHE = Path(sys.argv[1]) / "simrunner"
    sys.exit(ending(lambda: accepting.main("reference", "results", *sys.argv[2:])))
