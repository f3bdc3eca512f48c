"""Ctrl-C, SIGTERM and SIGHUP end a run early, in order, and once."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from simrunner.errors import Interrupted

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise Interrupted in the block at the first such signal and ignore later ones, so that cleaning up is not cut short.

    A signal that was ignored from the start, as SIGHUP is under nohup(1), stays ignored.
    """
    mine = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]

    def end(number: int, frame: FrameType | None) -> None:
        for each in mine:
            signal.signal(each, signal.SIG_IGN)
        raise Interrupted(f"the run was ended early by {signal.Signals(number).name}")

    previous = [(number, signal.signal(number, end)) for number in mine]
    try:
        yield
    finally:
        for number, handler in previous:
            signal.signal(number, handler)
