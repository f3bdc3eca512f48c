"""One connection of a spec: sends without waiting, takes in what arrives, and keeps notices until it is their turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from select import select

import psycopg
from psycopg import pq
from psycopg.pq.abc import PGconn, PGresult

from simrunner.errors import ServerError
from simrunner.runtime.isolation.running import Running

Write = Callable[[bytes], None]
"""Where the output goes."""
COPY = (pq.ExecStatus.COPY_IN, pq.ExecStatus.COPY_OUT, pq.ExecStatus.COPY_BOTH)
"""Results with which a session is of no use any more: nobody answers."""
COPY_REFUSED = "COPY from or to the client is not possible in a spec; use INSERT or SELECT"


def encoded(text: str) -> bytes:
    """Return text of a spec as the bytes of its file."""
    return text.encode(errors="surrogateescape")


class Session:
    """A connection, its statement under way, and what it told without being asked."""

    def __init__(self, name: str, connection: PGconn, write: Write | None) -> None:
        """`write` takes the session's notices; None: nobody wants them."""
        self.name = name
        self.connection = connection
        self.pid: int = connection.backend_pid
        self.running: Running | None = None
        """The step under way: sent, and not yet reported as completed."""
        self.notices_shown = 0
        self._write = write
        self._notices: list[bytes] = []
        connection.notice_handler = self._noticed

    def send(self, sql: str) -> None:
        """Send one message. Raises ServerError if the connection is lost."""
        try:
            self.connection.send_query(encoded(sql))
        except psycopg.Error as error:
            raise ServerError(f"session {self.name} has lost its connection: {str(error).strip()}") from error

    def busy(self) -> bool:
        """Take in what has arrived; whether the reply is still to come. Notices are kept, see `show_notices`."""
        if not self.connection.is_busy():
            return False
        with suppress(psycopg.OperationalError):  # the connection is lost: the reply will say so
            self.connection.consume_input()
            return bool(self.connection.is_busy())
        return False

    def show_notices(self) -> bool:
        """Write the notices that have arrived; whether there were any."""
        shown, self._notices = self._notices, []
        for message in shown:
            self.notices_shown += 1
            if self._write is not None:
                self._write(encoded(self.name) + b": " + message)
        return bool(shown)

    def results(self) -> Iterator[PGresult]:
        """Yield the results of a reply that has come. One that asks for COPY data is the last."""
        while (result := self.connection.get_result()) is not None:
            yield result
            if result.status in COPY:
                return

    def notifications(self) -> Iterator[pq.PGnotify]:
        """Yield the NOTIFY messages that have arrived."""
        while True:
            with suppress(psycopg.OperationalError):  # the connection is lost: its step said so
                self.connection.consume_input()
            if (notification := self.connection.notifies()) is None:
                return
            yield notification

    def cancel(self) -> None:
        """Ask the server to cancel the statement under way."""
        with suppress(psycopg.OperationalError):  # it has ended, or the server is gone: both show in the reply
            self.connection.get_cancel().cancel()

    def _noticed(self, result: PGresult) -> None:
        self._notices.append(result.error_message)


def wait_for(sessions: Sequence[Session], seconds: float) -> bool:
    """Wait until something arrives at one of the sessions, or the time is over; whether something did."""
    sockets = [session.connection.socket for session in sessions]
    return bool(select(sockets, [], [], seconds)[0])
