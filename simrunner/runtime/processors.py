"""Brings processes that take turns together on one processor.

In a stepped run only one of coordinator, actors and backends ever has something to do. On the same processor one hands over to
the next in about 10 microseconds; waking one on an idle processor of a virtual machine takes 100, and a step is made of four such
wake-ups. Coordinators that are at work at the same time take different processors, as far as there are any: each holds a lock on
a file that stands for its own.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from contextlib import suppress

from simrunner.runtime.account import cache_folder
from simrunner.runtime.cluster import Cluster


class Gathering:
    """This process on one processor, together with those that it is given, until it is dissolved.

    Does nothing where the server is not ours, or where the system does not let it.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._all = sorted(os.sched_getaffinity(0))
        self._lock: int | None = None
        self._one = self._taken() if cluster.embedded else None
        self.join(0)

    def join(self, *pids: int) -> None:
        """Bring processes here; 0 is this one. Children and backends that they fork are here too."""
        if self._one is not None:
            for pid in pids:
                _place(pid, [self._one])

    def leave(self) -> None:
        """Let this process go wherever it likes, as a child that still has to get ready should."""
        if self._one is not None:
            _place(0, self._all)

    def dissolve(self) -> None:
        """Leave, and let the next coordinator have the processor. Children that are left stay there until they end."""
        self.leave()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _taken(self) -> int:
        """Take a processor that no other coordinator has; where all are taken, any."""
        for number in self._all:
            lock = os.open(cache_folder() / f"processor-{number}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                continue
            self._lock = lock
            return number
        return self._all[os.getpid() % len(self._all)]


def _place(pid: int, processors: Sequence[int]) -> None:
    with suppress(OSError):  # it has ended, or is not ours to place: then a step is only slower
        os.sched_setaffinity(pid, processors)
