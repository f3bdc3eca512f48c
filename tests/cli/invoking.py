"""Calling the command line: in this process for what starts no server, as a program of its own for what forks actors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from click.testing import CliRunner, Result

from simrunner.cli import main


def invoke(*words: str | Path) -> Result:
    """Run a command in this process. No traceback may reach the user, whatever it is given."""
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert "Traceback" not in result.output
    assert "This is a bug in" not in result.output
    return result


CLEARED = "Cleared what an ended command had left"


class Ended(NamedTuple):
    """How a program ended."""

    code: int
    out: str
    err: str

    def json(self) -> dict[str, Any]:
        """The JSON that it printed."""
        document: dict[str, Any] = json.loads(self.out)
        return document


def own_words(err: str) -> str:
    """What a program wrote to standard error, without what it says of other commands of this machine that were killed."""
    return "".join(line for line in err.splitlines(keepends=True) if not line.startswith(CLEARED))


def command(*words: str | Path) -> list[str]:
    """Return the command line of a simrunner program."""
    return [sys.executable, "-m", "simrunner", *map(str, words)]


def program(*words: str | Path, cwd: Path, **environment: str) -> Ended:
    """Run a simrunner program to its end in a working directory."""
    done = subprocess.run(
        command(*words), cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    return Ended(done.returncode, done.stdout, own_words(done.stderr))
