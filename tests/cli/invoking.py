"""Calling the command line: in this process for what starts no server, as a program of its own for what forks actors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

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
    return ended_alone(begun(command(*words), cwd, environment))


def begun(line: Sequence[str], cwd: Path, environment: Mapping[str, str] = {}, **how: Any) -> subprocess.Popen[str]:
    """Start a program, with more variables and more arguments of Popen. What it writes is kept for `ended`."""
    usual = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process: subprocess.Popen[str] = subprocess.Popen(line, cwd=cwd, env={**os.environ, **environment}, **{**usual, **how})
    return process


class Begun(Protocol):
    """A program that goes on, such as a Popen."""

    @property
    def returncode(self) -> int:
        """Its exit code, once it has ended."""

    def communicate(self) -> tuple[str | None, str | None]:
        """Wait for its end and return what it wrote."""


def ended(process: Begun) -> Ended:
    """Wait for a program to end. No traceback may reach its user."""
    out, err = process.communicate()
    assert "Traceback" not in (err or ""), err
    return Ended(process.returncode, out or "", err or "")


def ended_alone(process: Begun) -> Ended:
    """The same without what it says of other commands of this machine that were killed."""
    told = ended(process)
    return told._replace(err=own_words(told.err))
