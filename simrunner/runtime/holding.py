"""Holds back the signals that end a run early while something is put in order: a half-done clean-up would leave things behind."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end a run early: Ctrl-C, kill(1), and a terminal that goes away."""


@contextmanager
def signals_held() -> Iterator[None]:
    """Let signals that end a run wait until the end of the block. What is forked in it must not inherit that."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
