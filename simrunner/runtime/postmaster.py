"""Starts and stops the server process of a slot, and ends what a killed command left running in it."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from simrunner.errors import ServerError
from simrunner.limits import LIMITS
from simrunner.runtime.launch import launch
from simrunner.runtime.slot import Slot, make_socket_folder

_STATUS_LINE = 7
"""Of postmaster.pid, from 0: https://www.postgresql.org/docs/18/storage-file-layout.html"""
_LOG_TAIL_LINES = 8
_log = logging.getLogger(__name__)


class StartFailed(ServerError):
    """The server process ended, or did not become ready in time."""


def start(
    slot: Slot, data: Path, binaries: Path, settings: Mapping[str, str], socket: Path | None = None
) -> tuple[subprocess.Popen[bytes], Path]:
    """Start the server and return its process and the folder of its socket, a new one unless it is given. Raises StartFailed.

    It shuts down at once (SIGQUIT) when this process dies. A fast shutdown (SIGINT) would wait for ever for a backend that is
    held by SIGSTOP; the crash recovery that the next start does instead takes milliseconds.
    """
    end_leftovers(slot)
    (data / "postmaster.pid").unlink(missing_ok=True)  # its pid may be another program's by now
    (data / "postgresql.auto.conf").unlink(missing_ok=True)  # ALTER SYSTEM of an earlier run
    socket = socket or make_socket_folder(slot)
    command = [str(binaries / "postgres"), "-D", str(data)]
    for name, value in {**settings, "unix_socket_directories": _quoted(socket), "cluster_name": cluster_name(slot)}.items():
        command += ["-c", f"{name}={value}"]
    slot.log.unlink(missing_ok=True)
    with os.fdopen(os.open(slot.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as log:
        process = launch(slot.account, command, slot.folder, log, signal.SIGQUIT)
    try:
        _await_ready(process, data, slot)
    except BaseException:
        stop(slot, process)
        raise
    return process, socket


def stop(slot: Slot, process: subprocess.Popen[bytes]) -> None:
    """Stop the server: fast, then at once, then by force. Returns when no process of the slot is left."""
    for pid in processes_of(slot):
        _signal(pid, signal.SIGCONT)  # a backend held by SIGSTOP cannot leave
    for signum, seconds in ((signal.SIGINT, LIMITS.interrupt_seconds), (signal.SIGQUIT, LIMITS.server_kill_seconds)):
        process.send_signal(signum)
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
            break
        _log.warning("PostgreSQL does not stop on %s after %g s; still running: %s", signum.name, seconds, _titles(slot))
    process.kill()
    process.wait()
    end_leftovers(slot)


def crash(slot: Slot, process: subprocess.Popen[bytes]) -> None:
    """End the server at once, as a crash does: nothing is written any more. Returns when no process of the slot is left."""
    process.send_signal(signal.SIGQUIT)
    for pid in processes_of(slot):
        _signal(pid, signal.SIGQUIT)  # before it goes on: one that is stopped must not do anything else first
        _signal(pid, signal.SIGCONT)
    with suppress(subprocess.TimeoutExpired):
        process.wait(LIMITS.server_kill_seconds)
    process.kill()
    process.wait()
    end_leftovers(slot)


def end_leftovers(slot: Slot) -> None:
    """End all processes of the slot's server; the slot's lock is ours, so nobody uses them. Raises ServerError if they stay."""
    for signum, seconds in ((signal.SIGQUIT, LIMITS.server_kill_seconds), (signal.SIGKILL, LIMITS.backend_gone_seconds)):
        if not (left := processes_of(slot)):
            return
        for pid in left:
            _signal(pid, signum)
            _signal(pid, signal.SIGCONT)
        _await_gone(slot, seconds)
    if processes_of(slot):
        raise ServerError(f"processes of a dead simrunner command do not end: {_titles(slot)}; end them and try again")


def processes_of(slot: Slot) -> list[int]:
    """Return the pids of the server and its backends, ascending."""
    return [pid for pid, _ in _commands(slot)]


def cluster_name(slot: Slot) -> str:
    """Return the name that the server shows in the titles of its processes (at most 63 bytes)."""
    return "simrunner-" + sha256(os.fsencode(slot.folder)).hexdigest()[:12]


def _commands(slot: Slot) -> Iterator[tuple[int, bytes]]:
    """The server's command line names its data folder, a backend's title the cluster. Both must run as the server's account."""
    data, title = os.fsencode(slot.folder / "data-"), f"postgres: {cluster_name(slot)}: ".encode()
    for pid in sorted(int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()):
        folder = Path("/proc", str(pid))
        try:
            if folder.stat().st_uid != slot.account.uid:
                continue
            command = (folder / "cmdline").read_bytes()
        except OSError:  # it has just ended
            continue
        if command.startswith(title) or b"\0-D\0" + data in command:
            yield pid, command


def _titles(slot: Slot) -> str:
    return ", ".join(f"{pid} ({command[:80].rstrip(bytes(1)).decode(errors='replace')})" for pid, command in _commands(slot))


def _await_ready(process: subprocess.Popen[bytes], data: Path, slot: Slot) -> None:
    deadline = time.monotonic() + LIMITS.server_start_seconds
    pause_seconds = 0.001
    while not _is_ready(data, process.pid):
        if process.poll() is not None:
            raise StartFailed(f"PostgreSQL ended with code {process.returncode} while it started: {_log_tail(slot)}")
        if time.monotonic() > deadline:
            raise StartFailed(f"PostgreSQL was not ready after {LIMITS.server_start_seconds:g} s: {_log_tail(slot)}")
        time.sleep(pause_seconds)
        pause_seconds = min(pause_seconds * 1.5, 0.02)


def _is_ready(data: Path, pid: int) -> bool:
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return False
    return len(lines) > _STATUS_LINE and lines[0].strip() == str(pid) and lines[_STATUS_LINE].strip() == "ready"


def _await_gone(slot: Slot, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while processes_of(slot) and time.monotonic() < deadline:
        time.sleep(0.005)


def _signal(pid: int, signum: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signum)


def _log_tail(slot: Slot) -> str:
    lines = slot.log.read_text(errors="replace").strip().splitlines()
    return "\n".join(lines[-_LOG_TAIL_LINES:]) or f"it wrote nothing to {slot.log}"


def _quoted(folder: Path) -> str:
    return '"' + str(folder).replace('"', '""') + '"'
