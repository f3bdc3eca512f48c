"""Ctrl-C, SIGTERM and SIGHUP end a run early, in order, and once."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from simrunner.errors import Interrupted
from simrunner.runtime.holding import ENDING


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise Interrupted in the block at the first such signal and ignore later ones, so that cleaning up is not cut short.

    Once there was one they stay ignored after the block too, until the command has said how it ended. A signal that was
    ignored from the start, as SIGHUP is under nohup(1), stays ignored.
    """
    mine = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]

    def end(number: int, frame: FrameType | None) -> None:
        previous.clear()
        ignore()
        raise Interrupted(f"the run was ended early by {signal.Signals(number).name}")

    previous = [(number, signal.getsignal(number)) for number in mine]
    for number in mine:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in previous:
            signal.signal(number, handler)


def ignore() -> None:
    """Ignore these signals from now on: the command is about to end by itself."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def handlers_kept() -> Iterator[None]:
    """Put the handlers of these signals back at the end of the block."""
    before = [(number, signal.getsignal(number)) for number in ENDING]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
