"""Plays one permutation of a spec and writes what isolationtester writes, in its order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from psycopg import pq

from simrunner.errors import InputError, StepStuck
from simrunner.limits import LIMITS
from simrunner.runtime.isolation.blocks import Blocks
from simrunner.runtime.isolation.locks import Locks
from simrunner.runtime.isolation.running import Running
from simrunner.runtime.isolation.session import COPY, COPY_REFUSED, Session, Write, encoded, wait_for
from simrunner.runtime.isolation.show import shown
from simrunner.runtime.isolation.since import Since
from simrunner.runtime.isolation.watch import Watch
from simrunner.spec.plan import Move, Plan

_HELD_SECONDS = 0.01


class Player:
    """Plays permutations one after the other over the same connections."""

    def __init__(self, plan: Plan, sessions: Sequence[Session], locks: Locks, blocks: Blocks, write: Write) -> None:
        self._plan = plan
        self._sessions = sessions
        self._locks = locks
        self._blocks = blocks
        self._write = write
        self._watch = Watch(sessions, locks)
        self._waiting: list[Running] = []
        """Steps reported as waiting, in the order in which they were."""
        self._moves: Sequence[Move] = ()

    def play(self, moves: Sequence[Move]) -> None:
        """Play one permutation, setup and teardown included.

        Raises InputError where it cannot go on as it is written, StepStuck where the server does not answer.
        """
        self._moves = moves
        self._write(b"\nstarting permutation:" + b"".join(b" " + encoded(move.step.name) for move in moves) + b"\n")
        self._blocks.set_up()
        for move in moves:
            self._take(move)
        self._retry(wait=True)
        if self._waiting:
            self._refuse(self._waiting[0].move, f"{self._names(self._waiting)} wait for each other's completion by their markers")
        self._blocks.tear_down()

    def _take(self, move: Move) -> None:
        session = self._session(move)
        if session.running is not None:
            self._free(session, move)
        session.send(move.step.sql)
        running = session.running = Running(move, [])
        running.goals += [
            (delay, delay.notices + self._sessions[delay.step.session].notices_shown)
            for delay in move.delays
            if delay.notices is not None
        ]
        completed = self._completes(running, first=True, wait=False)
        self._retry(wait=False)
        if not completed:
            self._waiting.append(running)

    def _free(self, session: Session, move: Move) -> None:
        """Wait until the session's earlier step is completed, because it is to take another."""
        held = Since(LIMITS.spec_blocked_seconds)
        while (running := session.running) is not None:
            if self._completes(running, first=False, wait=True, next_move=move):
                self._waiting.remove(running)
            self._retry(wait=False)
            if session.running is running:
                self._hold(session, move, held)

    def _hold(self, session: Session, move: Move, held: Since) -> None:
        """Wait a moment for the steps that a marker names. Raises InputError if none of them can go on."""
        others = self._watch.others(session)
        held.keep(self._watch.all_blocked(others))
        if not others or held.over():
            names = self._names([other.running for other in self._sessions if other.running])
            self._refuse(
                move,
                f"session {session.name} cannot take step {move.step.name}: its earlier step is held by a marker; "
                f"under way are {names}",
            )
        wait_for(others, _HELD_SECONDS)

    def _retry(self, *, wait: bool) -> None:
        """Look at all waiting steps in turn; again if one of them may have met the markers of one that was looked at before."""
        while True:
            before, notices = len(self._waiting), self._notices()
            self._waiting = [running for running in self._waiting if not self._completes(running, first=False, wait=wait)]
            marked = any(running.move.once or running.move.delays for running in self._waiting)
            if not marked or (len(self._waiting) == before and self._notices() == notices):
                return

    def _completes(self, running: Running, *, first: bool, wait: bool, next_move: Move | None = None) -> bool:
        """Wait until a step has ended or is blocked, report what there is to report; whether it is completed.

        `first`: it has just been sent. `wait`: it is waited for even if it is blocked; `next_move`: because its session is to
        take this step.
        """
        session = self._session(running.move)
        blocked = first and running.move.once
        if not blocked and wait:
            self._watch.ends(session, stuck=lambda _, blocked: self._give_up(running, next_move if blocked else None))
        elif not blocked:
            blocked = not self._watch.ends_unblocked(session, again=not first, stuck=lambda *_: self._give_up(running, None))
        if blocked or self._delayed(running):
            if first:
                self._write(_line(running, b" <waiting ...>"))
            return False
        self._write(_line(running, b"") if first else b"step " + encoded(running.name) + b": <... completed>\n")
        self._report(session, running)
        session.running = None
        return True

    def _delayed(self, running: Running) -> bool:
        """Whether a marker still delays the report that a step is completed."""
        for delay in running.move.delays:
            other = self._sessions[delay.step.session].running
            if delay.notices is None and other is not None and other.move.step is delay.step:
                return True
        return any(self._sessions[delay.step.session].notices_shown < goal for delay, goal in running.goals)

    def _report(self, session: Session, running: Running) -> None:
        for result in session.results():
            session.show_notices()
            self._write(shown(result))
            if result.status in COPY:
                raise InputError(COPY_REFUSED, place=self._plan.at(running.move.step.place))
        session.show_notices()
        for notification in session.notifications():
            self._write(self._notification(session, notification))

    def _notification(self, session: Session, notification: pq.PGnotify) -> bytes:
        names = {other.pid: encoded(other.name) for other in reversed(self._sessions)}
        sender = names.get(notification.be_pid, b"PID %d" % notification.be_pid)
        text = b'%s: NOTIFY "%s" with payload "%s" from %s\n'
        return text % (encoded(session.name), notification.relname, notification.extra, sender)

    def _give_up(self, running: Running, next_move: Move | None) -> None:
        """A step is beyond its limit: refuse a permutation that cannot be played, otherwise cancel the step."""
        session = self._session(running.move)
        if next_move is not None:
            whom = self._names_of_blockers(session)
            self._refuse(
                next_move,
                f"session {session.name} is to take step {next_move.step.name}, but its step {running.name} waits for {whom}; "
                f"let the step that frees it come before",
            )
        if running.cancelled:
            raise StepStuck(f"step {running.name} of session {session.name} has not ended although it was cancelled")
        running.cancelled = True
        session.cancel()
        seconds = running.seconds()
        self._write(b"isolationtester: canceling step %s after %d seconds\n" % (encoded(running.name), seconds))

    def _names_of_blockers(self, session: Session) -> str:
        pids = self._locks.blockers(session.pid)
        names = [other.name for other in self._sessions if other.pid in pids]
        return f"a lock of session {' and '.join(names)}" if names else "a lock"

    def _refuse(self, move: Move, message: str) -> NoReturn:
        played = " ".join(each.step.name for each in self._moves)
        raise InputError(f"in the permutation {played}: {message}", place=self._plan.at(move.place))

    def _session(self, move: Move) -> Session:
        return self._sessions[move.step.session]

    def _notices(self) -> int:
        return sum(session.notices_shown for session in self._sessions)

    @staticmethod
    def _names(steps: Sequence[Running]) -> str:
        return " and ".join(running.name for running in steps)


def _line(running: Running, ending: bytes) -> bytes:
    return b"step " + encoded(running.name) + b": " + encoded(running.move.step.sql) + ending + b"\n"
