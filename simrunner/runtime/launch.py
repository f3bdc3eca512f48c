"""Starts programs as the server's account, in a clean environment, so that they die with the command that started them.

The parent death signal of prctl(2) is forgotten when a process changes its user and is kept by exec, so it is armed last. It is
sent when the *thread* that forked ends: the caller must be a thread that lives as long as the command, such as the main one.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from simrunner.errors import ServerError
from simrunner.runtime.account import Account

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
_ENVIRONMENT = {"LC_ALL": "C", "PATH": "/usr/bin:/bin"}
"""All that the programs get: the user's locale, time zone and PG* variables must not reach them."""


def launch(
    account: Account, command: Sequence[str], folder: Path, output: IO[bytes] | int, dies_by: signal.Signals
) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own; it gets `dies_by` when the calling thread ends. Raises ServerError."""
    try:
        return subprocess.Popen(
            command,
            cwd=folder,
            env=_ENVIRONMENT,
            umask=0o077,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_dying_by(dies_by, os.getpid()),  # noqa: PLW1509 - a command has one thread
            **_identity(account),
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ServerError(f"{command[0]} cannot be started as user id {account.uid}: {error}") from error


def output_of(account: Account, command: Sequence[str], folder: Path) -> tuple[int, str]:
    """Run a program to its end and return its exit code and output. Raises ServerError if it cannot be started."""
    program = launch(account, command, folder, subprocess.PIPE, signal.SIGKILL)
    try:
        output, _ = program.communicate()
    except BaseException:
        program.kill()
        program.wait()
        raise
    return program.returncode, output.decode(errors="replace").strip()


def _identity(account: Account) -> dict[str, Any]:
    return {"user": account.uid, "group": account.gid, "extra_groups": []} if account.foreign else {}


def _dying_by(signum: signal.Signals, parent: int) -> Callable[[], None]:
    def arm() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell starts background jobs with SIGINT ignored
        _libc.prctl(_PR_SET_PDEATHSIG, signum, 0, 0, 0)
        if os.getppid() != parent:  # it died before the signal was armed
            os._exit(1)

    return arm
