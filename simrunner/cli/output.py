"""Writing to standard output and standard error: for terminals, pipes, pipes that were closed, and full disks."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, cast

import click
from rich.console import Console

from simrunner.errors import EnvironmentFailure
from simrunner.report.page import Page

_READER_GONE = (errno.EPIPE, errno.EIO)
"""A pipe that nobody reads any more, and a terminal that was closed."""


def prepare_streams() -> None:
    """Let what a terminal's encoding lacks be escaped instead of failing, and closed streams (`>&-`) lead nowhere."""
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 - it stays open to the end
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say(text: str, *, err: bool = False) -> None:
    """Write a line, or lines, to standard output (`err`: to standard error).

    A reader that went away, such as `head`, does not end the command. Raises EnvironmentFailure if nothing can be written.
    """
    with _writing():
        click.echo(text, err=err)


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _READER_GONE:
            raise EnvironmentFailure(f"the output cannot be written: {error.strerror}") from error
        discard_output()


def terminal() -> Console:
    """Return a console on standard output for a progress bar that is drawn by hand; it may lose its terminal."""
    return Console(file=cast("TextIO", _Terminal()), markup=False, highlight=False, emoji=False)


class _Terminal(io.TextIOBase):
    """Standard output as rich writes to it, by way of `say`'s rules."""

    def write(self, text: str) -> int:
        with _writing():
            sys.stdout.write(text)
            sys.stdout.flush()
        return len(text)

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return sys.stdout.fileno()


def say_page(page: Page, *, err: bool = False) -> None:
    """Write a page: coloured and as wide as the terminal, or plain and 80 columns wide."""
    stream = sys.stderr if err else sys.stdout
    width = shutil.get_terminal_size().columns if stream.isatty() else 80
    say(page.render(width, colour=stream.isatty()).rstrip("\n"), err=err)


def say_json(document: Mapping[str, Any] | list[dict[str, Any]]) -> None:
    """Write a JSON value for machines."""
    say(json.dumps(document, indent=2, ensure_ascii=False))


def complain(text: str) -> None:
    """Write lines to standard error, whatever state it is in."""
    try:
        click.echo(text, err=True)
    except OSError:
        discard_output()


def discard_output() -> None:
    """Send what is still written to a closed pipe or terminal nowhere, also what Python flushes at its end."""
    for stream in (sys.stdout, sys.stderr):
        if not _is_writable(stream):
            _redirect(stream)


def _is_writable(stream: TextIO) -> bool:
    try:
        stream.flush()
        if stream.isatty():  # one that was closed says nothing until it is written to
            os.write(stream.fileno(), b"")
    except OSError:
        return False
    return True


def _redirect(stream: TextIO) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
