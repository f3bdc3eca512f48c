"""The embedded PostgreSQL server: one private cluster for each simrunner command that runs.

A command takes a free slot, starts the server of that slot and stops it at its end. If the command is killed, the kernel tells
the server to shut down at once; should anything of it remain, the next command in the slot ends it. Nobody else can connect:
there is only a socket in a private folder.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from subprocess import Popen

from simrunner.errors import ServerError
from simrunner.runtime import environment
from simrunner.runtime.account import cache_folder, server_account
from simrunner.runtime.admin import administering, texts
from simrunner.runtime.binaries import binaries
from simrunner.runtime.clearing import clear_others, remove_orphans, tell, what_is_left
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.holding import signals_held
from simrunner.runtime.pgdata import SUPERUSER, data_folder, prepare_data
from simrunner.runtime.postmaster import StartFailed, crash, end_leftovers, start, stop
from simrunner.runtime.settings import server_settings
from simrunner.runtime.shared_objects import drop_leftovers
from simrunner.runtime.shortage import explained, writing_below
from simrunner.runtime.slot import Slot, locked_slot, remove_socket_folder
from simrunner.runtime.template import ensure_template


@contextmanager
def embedded(major: int = 18) -> Iterator[Cluster]:
    """Run a server of its own for the time of the block. Raises ServerError if it cannot be had.

    Children that are forked meanwhile must close the descriptors that they inherit: an open lock file keeps the slot taken. The
    calling thread must be the one that ends last, because the server shuts down when that thread does.
    """
    account, cache = server_account(), cache_folder()
    with ExitStack() as stack:
        with explained(cache), writing_below(cache):
            slot = stack.enter_context(locked_slot(major, account))
            stack.enter_context(environment.hidden(environment.libpq_variables()))
            folder = binaries(major, account, cache)
            left = what_is_left(slot)
            clear_others(account)
        running = _Running(slot, major, folder)
        try:
            with explained(cache):
                with writing_below(cache):
                    running.start()
                yield _prepared(running, left)
        except ServerError:
            running.has_failed = True
            raise
        finally:
            with signals_held():
                running.end()
                remove_socket_folder(slot)


class _Running:
    """The server of a slot while it runs."""

    def __init__(self, slot: Slot, major: int, folder: Path) -> None:
        self.slot, self.major, self._folder = slot, major, folder
        self.process: Popen[bytes] | None = None
        self.socket = slot.folder
        self.has_failed = False

    def start(self) -> None:
        """Start it. Raises ServerError."""
        self.process, self.socket = _started(self.slot, self.major, self._folder)

    def crash(self) -> None:
        """Crash it and start it again on its data, which it recovers. Raises ServerError."""
        if self.process is not None:
            crash(self.slot, self.process)
        data = data_folder(self.slot, self.major)
        self.process, _ = start(self.slot, data, self._folder, server_settings(self.major), self.socket)

    def end(self) -> None:
        """Stop it. Of one that failed the cluster goes too: databases lie in it that nobody could drop any more."""
        if self.process is None:  # interrupted while it was started
            end_leftovers(self.slot)
        else:
            self.has_failed = self.has_failed or self.process.poll() is not None
            stop(self.slot, self.process)
        if self.has_failed:
            shutil.rmtree(data_folder(self.slot, self.major), ignore_errors=True)


def _started(slot: Slot, major: int, folder: Path) -> tuple[Popen[bytes], Path]:
    end_leftovers(slot)
    new = prepare_data(slot, major, folder)
    data = data_folder(slot, major)
    try:
        return start(slot, data, folder, server_settings(major))
    except StartFailed:
        if new:
            raise
    shutil.rmtree(data)  # damaged: nothing in it is worth keeping
    prepare_data(slot, major, folder)
    return start(slot, data, folder, server_settings(major))


def _prepared(running: _Running, left: list[str]) -> Cluster:
    parameters = {"host": str(running.socket), "port": "5432", "user": SUPERUSER}
    bare = Cluster(
        running.major,
        "",
        True,
        True,
        parameters,
        embedded=True,
        postmaster_pid=None if running.process is None else running.process.pid,
        crash=running.crash,
    )
    with administering(bare, bare.maintenance, "preparing the embedded server") as connection:
        left = [*left, *(f"the database {name}" for name in drop_leftovers(connection))]
        ensure_template(bare, connection)
        tell(running.slot, [*left, *remove_orphans(data_folder(running.slot, running.major), connection)])
        return replace(bare, version_text=texts(connection, "SELECT version()")[0])
