"""Commands that are forked from a process which has loaded simrunner already: starting Python costs more than a small run.

That process has none of numpy, pandas and pyarrow, like a command that has just begun.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
from pathlib import Path
from tempfile import TemporaryDirectory

from simrunner.cli import main
from simrunner.runtime import account

PRELOADED = (
    "simrunner.cli.run",
    "simrunner.cli.explore",
    "simrunner.cli.playing",
    "simrunner.cli.campaigning",
    "simrunner.search.request",
    "tests.torture.warm",
)
OUTPUTS = ("out", "err")
"""The files in which a command's standard output and standard error are kept, by descriptor from 1."""


class Command:
    """A command that goes on, as a Popen would show it."""

    def __init__(self, cache: Path, home: Path, environment: dict[str, str], words: list[str]) -> None:
        self._output = TemporaryDirectory()
        for name in OUTPUTS:  # it may be killed before it has any
            (Path(self._output.name) / name).touch()
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(list(PRELOADED))
        self._process = context.Process(target=_live, args=(Path(self._output.name), cache, home, environment, words))
        self._process.start()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid or 0

    @property
    def returncode(self) -> int:
        """Its exit code, once it has ended."""
        return self._process.exitcode or 0

    def poll(self) -> int | None:
        """Return its exit code if it has ended."""
        return self._process.exitcode

    def communicate(self) -> tuple[str, str]:
        """Wait for its end and return what it wrote."""
        self._process.join()
        out, err = ((Path(self._output.name) / name).read_text() for name in OUTPUTS)
        self._output.cleanup()
        return out, err


def _live(output: Path, cache: Path, home: Path, environment: dict[str, str], words: list[str]) -> None:
    os.setsid()
    for number, name in enumerate(OUTPUTS, 1):
        file = os.open(output / name, os.O_WRONLY)
        os.dup2(file, number)
        os.close(file)
    os.chdir(home)
    os.environ.update(environment)
    tempfile.tempdir = None
    account.ROOT_CACHE = cache / "simrunner"
    sys.argv = ["simrunner", *words]
    main(prog_name="simrunner")
