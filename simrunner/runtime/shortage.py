"""A full disk below a server: the machine failed, whichever statement met it first, and nothing was found about a design."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from simrunner.errors import EnvironmentFailure, ServerError
from simrunner.runtime.libpq import Reply

DISK_FULL = "53100"
"""disk_full: https://www.postgresql.org/docs/18/errcodes-appendix.html"""
_ERRORS = (errno.ENOSPC, errno.EDQUOT)
_WAL_SEGMENT_BYTES = 16 << 20
"""A server that has not this much room cannot write on: https://www.postgresql.org/docs/18/wal-configuration.html"""


def met_by(reply: Reply) -> bool:
    """Whether a statement failed because the server's disk is full: with that code, or because the server went down by it."""
    return reply.sqlstate == DISK_FULL or (reply.ended and _is_told_in(reply.message))


def tells_of(error: EnvironmentFailure) -> bool:
    """Whether a failure says that the disk below the server is full."""
    return isinstance(error, ServerError) and _is_told_in(str(error))


@contextmanager
def writing_below(cache: Path) -> Iterator[None]:
    """Turn what a full disk refuses while files are written below `cache` into ServerError."""
    try:
        yield
    except OSError as error:  # of a copied tree it has no errno, only texts
        if _is_told_in(str(error)):
            raise ServerError(f"{cache} cannot be written: {error}") from error
        raise


@contextmanager
def explained(cache: Path) -> Iterator[None]:
    """Say in a failure of a server whose files lie below `cache` that their disk is full, where it is.

    Whoever lost its session to a server that went down does not hear why, but then there is no room for what that had to write.
    """
    try:
        yield
    except ServerError as error:
        if tells_of(error) or _free_bytes(cache) < _WAL_SEGMENT_BYTES:
            elsewhere = "" if os.geteuid() == 0 else ", or set XDG_CACHE_HOME to a folder of another disk,"
            error.add_note(
                f"The disk of {cache}, where the server's files are, is full: free space there{elsewhere} and run again"
            )
        raise


@contextmanager
def explained_elsewhere(where: str) -> Iterator[None]:
    """Say in a failure of somebody else's server that its disk is full, where the server says so."""
    try:
        yield
    except ServerError as error:
        if tells_of(error):
            error.add_note(f"The disk of the server at {where} is full: free space there and run again")
        raise


def _is_told_in(text: str) -> bool:
    return any(os.strerror(number) in text for number in _ERRORS)


def _free_bytes(folder: Path) -> int:
    with suppress(OSError):
        return shutil.disk_usage(folder).free
    return _WAL_SEGMENT_BYTES
