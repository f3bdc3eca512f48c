"""The two ends of a gate.

`ActorGate` sits in the actor's process, below its session; `PipeGate` is what the coordinator holds. The coordinator needs
nothing else of an actor, so that a gate on the wire can take the place of this one.
"""

from __future__ import annotations

import select
import signal
import socket
from time import perf_counter_ns
from typing import Protocol

from msgspec.structs import replace

from simrunner.runtime.messages import Go, Intent, Order, Outcome, Report, decode_go, decode_report, encode

_PACKET_BYTES = 1 << 18
_LOOK = int(socket.MSG_PEEK | socket.MSG_DONTWAIT)


class Gate(Protocol):
    """The coordinator's end: what it can ask of an actor's gate."""

    def fileno(self) -> int:
        """Descriptor that becomes readable when the actor reported or died."""

    def open(self, go: Go) -> bool:
        """Let the actor take its step. False: the actor is dead."""

    def wait(self, timeout_ms: float) -> bool:
        """Wait until the actor reported or died, at most so long. False: neither happened."""

    def receive(self) -> Report | None:
        """Return the next report; None: the actor is dead. Blocks if there is neither."""

    def is_dead(self) -> bool:
        """Whether the actor is dead and everything that it reported was received. Does not wait."""

    def close(self) -> None:
        """Give the gate up."""


class Terminated(Exception):
    """The process was told to end. What it holds it may still give back, step by step."""


class PipeGate:
    """A gate over one end of a socket pair."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._poll = select.poll()
        self._poll.register(end, select.POLLIN)

    def fileno(self) -> int:
        """See Gate."""
        return self._end.fileno()

    def open(self, go: Go) -> bool:
        """See Gate."""
        try:
            self._end.send(encode(go))
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    def wait(self, timeout_ms: float) -> bool:
        """See Gate."""
        return bool(self._poll.poll(timeout_ms))

    def receive(self) -> Report | None:
        """See Gate."""
        try:
            packet = self._end.recv(_PACKET_BYTES)
        except OSError:
            return None
        return decode_report(packet) if packet else None

    def is_dead(self) -> bool:
        """See Gate."""
        try:
            return not self._end.recv(1, _LOOK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def close(self) -> None:
        """See Gate."""
        self._end.close()


class ActorGate:
    """The actor's end. It parks before every step, or only at one crash point in a concurrent round.

    `coalesce`: BEGIN and local actions are not parked at, but happen with the step that follows. Nobody else can notice when they
    happen, so schedules that differ in them alone are one; that step stands at the first crash point of them all.
    """

    def __init__(self, end: socket.socket, backends: tuple[int, ...], *, coalesce: bool = False) -> None:
        self._end = end
        self.backends = backends
        """Of the sessions that the actor has now."""
        self._coalesce = coalesce
        self._deferred: list[Intent] = []
        self._outcomes: list[Outcome] = []
        self._began_ns = 0
        self._go = Go(0)
        """The last one: a concurrent round has one for all its steps."""
        self._waits = False
        self._is_told_to_end = False
        self.free = False
        self.stop_at: str | None = None

    def park(self, intent: Intent) -> Go:
        """Report the outcomes and the next step; return when the step may be taken.

        Raises SystemExit when the coordinator is gone, Terminated when the process was told to end.
        """
        if self._is_told_to_end:
            self._is_told_to_end = False
            raise Terminated
        points = [early.crash_point for early in self._deferred if early.crash_point is not None]
        if points:
            intent = replace(intent, crash_point=points[0])
        waits = not self.free or (intent.crash_point is not None and intent.crash_point == self.stop_at)
        report = Report(tuple(self._outcomes), intent, waits, self.backends, tuple(self._deferred))
        self._outcomes, self._deferred = [], []
        packet = self._exchange(encode(report), waits)
        if packet is not None:
            self._go = decode_go(packet)
        self._began_ns = perf_counter_ns()
        return self._go

    def defers(self, intent: Intent) -> bool:
        """Whether a step is to happen with the one that follows. It is told with that one and has no outcome of its own."""
        deferred = self._coalesce and intent.coalesces
        if deferred:
            self._deferred.append(intent)
        return deferred

    def _exchange(self, report: bytes, waits: bool) -> bytes | None:
        """Send a report and, if the actor waits, return the answer. A coordinator that is gone ends the actor."""
        try:
            self._end.send(report)
            self._waits = waits
            packet = self._end.recv(_PACKET_BYTES) if waits else None
        except (BrokenPipeError, ConnectionResetError):
            raise SystemExit(0) from None
        finally:
            self._waits = False
        if packet == b"":
            raise SystemExit(0)
        return packet

    def heed(self, number: signal.Signals) -> None:
        """From now on a signal tells the process to end: once, and only where it parks."""

        def told(*_: object) -> None:
            self._is_told_to_end = not self._waits
            if self._waits:
                signal.signal(number, signal.SIG_IGN)
                raise Terminated

        signal.signal(number, told)

    def finish(self, outcome: Outcome) -> None:
        """Keep the outcome of a step for the next report."""
        self._outcomes.append(outcome)

    def next_order(self, intent: Intent) -> Order:
        """Park between two rounds and return the order of the next one."""
        self.free = False
        order = self.park(intent).order
        if order is None:
            raise SystemExit(0)
        return order

    def elapsed_us(self) -> int:
        """Microseconds since the gate was last opened."""
        return (perf_counter_ns() - self._began_ns) // 1000
