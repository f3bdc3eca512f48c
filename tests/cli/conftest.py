"""One real run for all tests of a process that only look at it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.invoking import Ended, program


class RealRun(NamedTuple):
    """A run of the smoke workload against the reference."""

    home: Path
    """The working directory."""
    folder: Path
    ended: Ended


@pytest.fixture(scope="session")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> RealRun:
    home = tmp_path_factory.mktemp("smoke")
    ended = program("run", "smoke", cwd=home)
    return RealRun(home, (home / "results/latest").resolve(), ended)
