"""Looking at a run from outside while it runs: its processes, its sessions, and a kill that nobody in it decided."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

from simrunner.runtime import libpq
from simrunner.runtime.coordinator import Watcher
from simrunner.runtime.database import Database

IN_TRANSACTION = "state = 'idle in transaction'"
BLOCKED = "wait_event_type = 'Lock'"


def is_there(pid: int) -> bool:
    """Whether a process has an entry in the process table that was not reaped."""
    return Path(f"/proc/{pid}").exists()


def kill_for_good(pid: int) -> None:
    """SIGKILL a child of this process and return when it is dead; it is left to be reaped."""
    os.kill(pid, signal.SIGKILL)
    while state_of(pid) not in ("Z", "X"):
        pass


def state_of(pid: int) -> str:
    """State of a process, see proc(5): `T` stopped, `Z` dead and not reaped, `X` gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


class Outside:
    """Watches a run. `at` is called before every decision of the run, until it returns True."""

    def __init__(self, database: Database, at: Callable[[Outside], bool] = lambda _: True) -> None:
        self._connection = libpq.connect(database.conninfo("outside"))
        self._at: Callable[[Outside], bool] | None = at
        self.pids: dict[str, int] = {}
        """Actor -> process of its last incarnation."""
        self.seen: dict[int, int] = {}
        """Process -> backend, of every actor that was started."""
        self.phase, self.round = "setup", 0
        self.entered = False
        """A round was announced and has not begun."""
        self.left_behind: list[int] = []
        """Backends that were still there although their process had been reaped."""

    def watcher(self) -> Watcher:
        return Watcher(self._started, self._progressed, self._pace)

    def backend(self, actor: str, condition: str = "true") -> int | None:
        """Backend of an actor's session if the condition on pg_stat_activity holds."""
        rows = self.ask(f"SELECT pid FROM pg_stat_activity WHERE application_name = 'simrunner:{actor}' AND {condition}")
        return rows[0] if rows else None

    def ask(self, sql: str) -> list[int]:
        reply = libpq.expect(libpq.run(self._connection, sql), "looking from outside")
        return [int(row[0] or 0) for row in reply.rows]

    def close(self) -> None:
        self._connection.finish()

    def _started(self, actors: Sequence[tuple[str, int]]) -> None:
        self.pids = dict(actors)
        for actor, pid in actors:
            self.seen.setdefault(pid, self.backend(actor) or 0)

    def _progressed(self, phase: str, number: int, rounds: int) -> None:
        self.phase, self.round, self.entered = phase, number, True

    def _pace(self) -> None:
        alive = self.ask("SELECT pid FROM pg_stat_activity")
        dead = [backend for pid, backend in self.seen.items() if not is_there(pid)]
        self.left_behind += [backend for backend in dead if backend in alive]
        if self._at is not None and self._at(self):
            self._at = None
        self.entered = False


def kill_when(actor: str, condition: str) -> Callable[[Outside], bool]:
    """Kill an actor in the safety phase as soon as its session meets a condition on pg_stat_activity."""

    def at(outside: Outside) -> bool:
        if outside.phase != "safety" or outside.backend(actor, condition) is None:
            return False
        kill_for_good(outside.pids[actor])
        return True

    return at


def kill_between_rounds(actor: str, number: int, phase: str = "safety") -> Callable[[Outside], bool]:
    """Kill an actor while it rests before a round."""

    def at(outside: Outside) -> bool:
        if not outside.entered or (outside.phase, outside.round) != (phase, number):
            return False
        kill_for_good(outside.pids[actor])
        return True

    return at
