"""Brings processes that take turns together on one processor.

In a stepped run only one of coordinator, actors and backends ever has something to do. On the same processor one hands over to
the next in about 10 microseconds; waking one on an idle processor of a virtual machine takes 100, and a step is made of four such
wake-ups. Commands that run at the same time use different processors, by the slots of their servers.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

from simrunner.runtime.cluster import Cluster


class Gathering:
    """This process on one processor, together with those that it is given, until it is dissolved.

    Does nothing where the server is not ours, or where the system does not let it.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._all = sorted(os.sched_getaffinity(0))
        self._one = self._all[cluster.slot % len(self._all)] if cluster.embedded else None
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


def _place(pid: int, processors: Iterable[int]) -> None:
    with suppress(OSError):  # it has ended, or is not ours to place: then a step is only slower
        os.sched_setaffinity(pid, processors)
