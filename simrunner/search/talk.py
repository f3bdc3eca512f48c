"""What the parent of a campaign and its coordinators say to each other: one message is one packet of a socket pair."""

from __future__ import annotations

import socket
from contextlib import suppress

import msgspec

from simrunner.store.schedules import ScheduleResult

_PACKET_BYTES = 1 << 18


class Ready(msgspec.Struct, tag=True):
    """Coordinator: its server runs and the design is installed."""

    major: int
    version: str
    """What `version()` said."""


class Measure(msgspec.Struct, tag=True):
    """Parent: find out how long a schedule is."""


class Measured(msgspec.Struct, tag=True):
    """Coordinator: how long a schedule is."""

    steps: int
    """Of the longest of those that were tried: the k of PCT."""
    interleavings: int | None
    """Schedules of an exhaustive search, as far as they can be counted beforehand."""


class Begin(msgspec.Struct, tag=True):
    """Parent: keep what follows in this folder."""

    folder: str
    started: str
    """ISO time at which the campaign began."""
    session: int
    """Which command of the campaign this is, from 0."""
    steps: int
    """The k of PCT and of the delay bound."""


class Run(msgspec.Struct, tag=True):
    """Parent: run the schedule of this number, and keep it as a finding if its root cause is none of `known`."""

    number: int
    known: tuple[str, ...]


class Done(msgspec.Struct, tag=True):
    """Coordinator: a schedule is finished and kept."""

    result: ScheduleResult


class Exhausted(msgspec.Struct, tag=True):
    """Coordinator: there is no further schedule."""


class Failed(msgspec.Struct, tag=True):
    """Coordinator: it has ended with an error."""

    kind: str
    """Class of `simrunner.errors`; `` for a bug."""
    words: str


Message = Ready | Measure | Measured | Begin | Run | Done | Exhausted | Failed


class Channel:
    """One end of a conversation."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._decoder = msgspec.msgpack.Decoder(Message)

    def fileno(self) -> int:
        """Descriptor that is readable when something was said, or the other end is gone."""
        return self._end.fileno()

    def send(self, message: Message) -> None:
        """Say something; nothing happens if nobody listens any more."""
        with suppress(BrokenPipeError, ConnectionResetError):
            self._end.send(msgspec.msgpack.encode(message))

    def receive(self) -> Message | None:
        """Wait for the next message; None: the other end is gone."""
        try:
            packet = self._end.recv(_PACKET_BYTES)
        except ConnectionResetError:
            return None
        return self._decoder.decode(packet) if packet else None

    def close(self) -> None:
        """End the conversation."""
        self._end.close()


def channels() -> tuple[Channel, Channel]:
    """Return the two ends of a new conversation."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    return Channel(ours), Channel(theirs)
