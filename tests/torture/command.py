"""simrunner with a cache of its own, so that it meets no other command: `python -m tests.torture.command CACHE ...`."""

from __future__ import annotations

import sys
from pathlib import Path

from simrunner.cli import main
from simrunner.runtime import account

if __name__ == "__main__":
    account.ROOT_CACHE = Path(sys.argv[1]) / "simrunner"
    sys.argv[1:] = sys.argv[2:]
    main(prog_name="simrunner")
