"""Server-crash: the server's processes die at once, and it recovers from its write-ahead log when it starts again.

Every session is gone, and with it every lock. Committed transactions survive, unless the sessions that made them commit with
`synchronous_commit = off`: their log is then kept from being written, so that the loss is certain. See
https://www.postgresql.org/docs/18/wal-async-commit.html
"""

from __future__ import annotations

from random import Random

from simrunner.faults.fault import Fault, drawn_from
from simrunner.model.operations import SEARCHED_CRASH_POINTS
from simrunner.model.tape import SERVER_CRASH
from simrunner.model.workload import FaultSpec


def drawn(stream: Random) -> FaultSpec:
    """A crash of the server while a worker stands at a crash point."""
    return FaultSpec(SERVER_CRASH, drawn_from(stream, SEARCHED_CRASH_POINTS))


FAULT = Fault(SERVER_CRASH, "the server crashes, starts again and recovers; every session is gone", drawn, of_actor=False)
