"""Trying one spoilt input: it works, or it is refused with its place; anything else is a failure of the reader."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import FrameType
from typing import NamedTuple

import click

from simrunner.errors import Divergence, EnvironmentFailure, InputError, Interrupted
from tests.hostile.kinds import Input, Kind, spoilt
from tests.hostile.mutations import Mutation

CPU_SECONDS, SECONDS = 10, 120
"""Nothing that is read needs more time of a processor; nor does it wait so long, on a machine that has much else to do."""
LONGEST = 4000
"""Characters of a message; a longer one is no message."""


class Hung(BaseException):
    """A reader did not come to its end."""


class Attempt(NamedTuple):
    """One input and what is done to it."""

    one: Input
    ways: tuple[Mutation | None, ...]
    places: tuple[int, ...]
    choice: int
    """Which of the ways to read it."""

    def __str__(self) -> str:
        ways = [
            f"{'another in its place' if way is None else way.__name__}({place})"
            for way, place in zip(self.ways, self.places, strict=True)
        ]
        return f"{self.one.folder.name}/{self.one.file}: {', '.join(ways)}; read {self.choice}"


def refusal(kind: Kind, attempt: Attempt, scratch: Path) -> str | None:
    """Read a spoilt input. Returns why it was refused, None if it was not. Raises AssertionError, or what the reader raised."""
    folder, file = spoilt(attempt.one, attempt.ways, attempt.places, scratch)
    try:
        with _bounded():
            kind.read(folder, file, Random(attempt.choice))
    except InputError as error:
        _check(str(error), "" if file.suffix == ".txt" else file.name, folder)
        return str(error)
    except click.ClickException as error:
        return error.format_message()
    except (EnvironmentFailure, Divergence, Interrupted):  # it was good enough for a server, and there is none
        return None
    return None


def _check(message: str, name: str, folder: Path) -> None:
    assert name in message or folder.name in message, f"says not where: {message}"
    assert len(message) <= LONGEST, f"is too long to be read: {message[:200]}"
    assert all(each.isprintable() or each in "\n\t" for each in message), f"holds control characters: {message!r}"


@contextmanager
def _bounded() -> Iterator[None]:
    def ring(number: int, frame: FrameType | None) -> None:
        raise Hung("did not come to its end")

    before = {number: signal.signal(number, ring) for number in (signal.SIGALRM, signal.SIGPROF)}
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        for timer in (signal.ITIMER_PROF, signal.ITIMER_REAL):
            signal.setitimer(timer, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
