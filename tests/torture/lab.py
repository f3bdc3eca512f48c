"""A place where commands can be killed: a cache and a working directory of its own, and what the system tells of them."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from tests.cli.invoking import Ended, begun, ended
from tests.torture.warm import Command

Started: TypeAlias = "subprocess.Popen[str] | Command"

ROOT = Path(__file__).parents[2]
USUAL_DATABASES = 4
"""postgres, template0, template1 and the template of the runs' databases."""
GONE_SECONDS = 30.0
"""A server that holds stopped processes kills them 5 s after it was told to end; the machine may be busy."""
MARKER = "SIMRUNNER_LAB"


@dataclass(frozen=True, slots=True)
class Lab:
    """Where commands run that are to be killed."""

    place: Path
    warm: bool = False
    """Commands are forked from a process that has loaded simrunner; else each is a Python of its own."""

    @property
    def cache(self) -> Path:
        """The folder of the servers."""
        return self.place / "cache"

    @property
    def home(self) -> Path:
        """The working directory."""
        return self.place / "home"

    @property
    def results(self) -> Path:
        """The results folder."""
        return self.home / "results"

    @property
    def latest(self) -> Path | None:
        """The folder of the last run, if there is one."""
        return (self.results / "latest").resolve() if (self.results / "latest").exists() else None

    def start(self, *words: str | Path) -> Started:
        """Start a command in a session, and so a process group, of its own."""
        if self.warm:
            return Command(self.cache, self.home, self._environment(), list(map(str, words)))
        return self.popen(*words)

    def popen(self, *words: str | Path, module: str = "tests.torture.command", **how: Any) -> subprocess.Popen[str]:
        """Start a command as a Python of its own, with more arguments of Popen."""
        line = [sys.executable, "-m", module, str(self.cache), *map(str, words)]
        return begun(line, self.home, self._environment(), **{"start_new_session": True, **how})

    def _environment(self) -> dict[str, str]:
        place = str(self.place)
        return {"PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(self.cache), "TMPDIR": f"{place}/reports", MARKER: place}

    def run(self, *words: str | Path) -> Ended:
        """Run a command to its end."""
        return ended(self.start(*words))

    def clear_results(self) -> None:
        """Remove the runs, but not the cache."""
        shutil.rmtree(self.results, ignore_errors=True)

    def processes(self) -> dict[int, str]:
        """Return the command lines of all processes that descend from a command, or serve one, by process id."""
        found = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and self._is_ours(entry):
                try:
                    found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                except OSError:  # it has just ended
                    continue
        return found

    def _is_ours(self, entry: Path) -> bool:
        """By its working directory, or a variable of its environment; servers have neither ours, but work in the cache."""
        try:
            if f"{MARKER}={self.place}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                return True
            return (entry / "cwd").readlink().is_relative_to(self.place)
        except OSError:
            return False

    def wait_until_gone(self) -> dict[int, str]:
        """Wait for the processes of a killed command to end. Returns those that do not."""
        deadline = time.monotonic() + GONE_SECONDS
        while (left := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.01)
        return left

    def postmasters(self) -> list[int]:
        """Return the process ids of the servers that run, by slot."""
        found = []
        for file in sorted(self._slots("data-*/postmaster.pid")):
            try:
                pid = int(file.read_text().partition("\n")[0])
                running = Path(f"/proc/{pid}/cwd").readlink() == file.parent
            except (OSError, ValueError):
                continue
            found += [pid] if running else []
        return found

    def remains(self) -> list[str]:
        """Return what lies there of servers that have ended: sockets and databases."""
        sockets = [f"socket {path}" for path in self._slots("socket")]
        return sockets + [f"database {path}" for path in self._databases()]

    def left_files(self) -> list[str]:
        """Return the files of the results that somebody had not finished writing."""
        return [str(path) for pattern in (".new-*", ".*.tmp") for path in self.results.rglob(pattern)]

    def held_locks(self) -> list[str]:
        """Return the slots and run folders whose lock somebody holds."""
        locks = [*self._slots("lock"), *self.results.rglob("run.lock")]
        return [str(path) for path in locks if _is_held(path)]

    def bug_reports(self) -> list[str]:
        """Return the texts of the bug reports that were written."""
        return [path.read_text() for path in (self.place / "reports").iterdir()]

    def left(self) -> list[str]:
        """Return everything that lies or runs there and should not once a command has ended."""
        running = [f"process {pid}: {line}" for pid, line in self.wait_until_gone().items()]
        return [*running, *self.remains(), *self.left_files(), *self.held_locks()]

    def _slots(self, pattern: str) -> Iterator[Path]:
        return self.cache.glob(f"simrunner/pg*/*/{pattern}")

    def _databases(self) -> list[Path]:
        found = []
        for base in self._slots("data-*/base"):
            folders = sorted((path for path in base.iterdir() if path.name.isdigit()), key=lambda path: int(path.name))
            found += folders[USUAL_DATABASES:]
        return found


@contextmanager
def a_lab(*, warm: bool = False) -> Iterator[Lab]:
    """Make a lab, below a folder that the server's account can reach, and remove it."""
    place = Path(tempfile.mkdtemp(prefix="sim lab ", dir="/var/tmp"))
    place.chmod(0o755)
    lab = Lab(place, warm)
    for folder in (lab.cache, lab.home, place / "reports"):
        folder.mkdir(mode=0o755)
    try:
        yield lab
    finally:
        shutil.rmtree(place)


def wait_for(process: Started, condition: Callable[[], bool]) -> bool:
    """Wait until something holds, or the command has ended: then False."""
    while not condition():
        if process.poll() is not None:
            return False
        time.sleep(0.001)
    return True


def _is_held(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False
