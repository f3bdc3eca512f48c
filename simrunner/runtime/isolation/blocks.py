"""Setup and teardown of a permutation."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

from psycopg import pq
from psycopg.pq.abc import PGresult

from simrunner.errors import InputError
from simrunner.limits import LIMITS
from simrunner.runtime.isolation.session import COPY, COPY_REFUSED, Session, Write, encoded, wait_for
from simrunner.runtime.isolation.show import result_table
from simrunner.spec.model import Block
from simrunner.spec.plan import Plan

_OPEN = (pq.TransactionStatus.INTRANS, pq.TransactionStatus.INERROR)
_PAUSE_SECONDS = 0.1


class Blocks:
    """Runs the blocks of a spec: the common ones over the control connection, the others in their sessions."""

    def __init__(self, plan: Plan, control: Session, sessions: Sequence[Session], write: Write) -> None:
        self._plan = plan
        self._control = control
        self._sessions = sessions
        self._write = write

    def set_up(self) -> None:
        """Run all setups. Raises InputError if one fails."""
        for block in self._plan.spec.setups:
            self._prepare(self._control, block, "setup")
        for session, spec in zip(self._sessions, self._plan.spec.sessions, strict=True):
            if spec.setup is not None:
                self._prepare(session, spec.setup, f"setup of session {session.name}")

    def tear_down(self) -> None:
        """Run all teardowns. One that fails is reported in the output, and the others go on."""
        for session, spec in zip(self._sessions, self._plan.spec.sessions, strict=True):
            if spec.teardown is not None:
                self._clean(session, spec.teardown, f"teardown of session {session.name}")
        if self._plan.spec.teardown is not None:
            self._clean(self._control, self._plan.spec.teardown, "teardown")

    def _prepare(self, session: Session, block: Block, what: str) -> None:
        if (failure := self._run(session, block, what)) is not None:
            self._write(encoded(what) + b" failed: " + failure)
            raise InputError(f"{what} failed: {failure.decode(errors='replace').strip()}", place=self._plan.at(block.place))

    def _clean(self, session: Session, block: Block, what: str) -> None:
        if (failure := self._run(session, block, what)) is not None:
            self._write(encoded(what) + b" failed: " + failure)

    def _run(self, session: Session, block: Block, what: str) -> bytes | None:
        """Run a block, write the table of its last statement, and return the message of a failure."""
        session.send(block.sql)
        self._await(session, block, what)
        results = list(session.results())
        session.show_notices()
        last: PGresult = results[-1]
        if last.status in COPY:
            raise InputError(COPY_REFUSED, place=self._plan.at(block.place))
        if last.status == pq.ExecStatus.TUPLES_OK:
            self._write(result_table(last))
        return None if last.status in (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK) else last.error_message

    def _await(self, session: Session, block: Block, what: str) -> None:
        began = monotonic()
        while session.busy():
            session.show_notices()
            wait_for([session], _PAUSE_SECONDS)
            seconds = monotonic() - began
            if seconds > LIMITS.spec_step_seconds or (seconds > LIMITS.spec_blocked_seconds and self._open(session)):
                raise InputError(f"{what} does not end; {self._reason(session)}", place=self._plan.at(block.place))

    def _open(self, session: Session) -> list[str]:
        """Return the other sessions that hold a transaction open, and with it perhaps locks."""
        return [other.name for other in self._sessions if other is not session and other.connection.transaction_status in _OPEN]

    def _reason(self, session: Session) -> str:
        if names := self._open(session):
            return f"session {' and '.join(names)} still holds a transaction open: end it in the session's last step or teardown"
        return f"it was given {LIMITS.spec_step_seconds:g} s"
