"""Waits for a statement: until its reply is there, or until it is certain that it waits for a lock.

isolationtester looks at the locks every 10 ms and takes whoever waits then for blocked. Here the look comes as soon as the
statement is slower than a quick one, so it must be sure: a statement is blocked when it waits for a lock and every other
statement under way waits too. As long as another one works, its lock may be free in a moment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic

from simrunner.limits import LIMITS
from simrunner.runtime.isolation.locks import Locks
from simrunner.runtime.isolation.session import Session, wait_for
from simrunner.runtime.isolation.since import Since

_QUICK_SECONDS = 0.0005
_LAST_SECONDS = 0.01
_SELDOM_SECONDS = 0.1

Stuck = Callable[[Session, bool], None]
"""What to do about a statement beyond its limit; True: it waits for a lock."""


class Watch:
    """Sees when a session's statement ends, and when it is blocked."""

    def __init__(self, sessions: Sequence[Session], locks: Locks) -> None:
        self._sessions = sessions
        self._locks = locks
        self._usual_seconds = 0.0
        """What a statement has taken lately when it was not blocked: on a busy machine the look must not come sooner."""

    def ends_unblocked(self, session: Session, *, again: bool, stuck: Stuck) -> bool:
        """Wait until the reply is there (True) or the statement is blocked (False).

        `again`: it was blocked before, and whoever could free it has done so by now.
        """
        began = monotonic()
        pause = 0.0 if again else self._quick()
        under_way, waits = Since(LIMITS.spec_step_seconds, begun=True), Since(_LAST_SECONDS)
        while self._busy(session):
            if wait_for([session], pause):
                continue
            working = self._working(session)
            if not self._busy(session):
                break
            waits.keep(session not in working)
            if not working or waits.over():
                return False
            pause = min(max(2 * pause, _QUICK_SECONDS), _LAST_SECONDS)
            if under_way.over():
                stuck(session, False)
                under_way.restart()
        self._usual_seconds += (monotonic() - began - self._usual_seconds) / 8
        return True

    def ends(self, session: Session, *, stuck: Stuck) -> None:
        """Wait until the reply is there, whether it is blocked meanwhile or not."""
        pause = _QUICK_SECONDS
        under_way, waits = Since(LIMITS.spec_step_seconds, begun=True), Since(LIMITS.spec_blocked_seconds)
        while self._busy(session):
            if wait_for([session], pause):
                continue
            pause = min(2 * pause, _SELDOM_SECONDS)
            waits.keep(pause == _SELDOM_SECONDS and not self._working(session))
            if waits.over() or under_way.over():
                stuck(session, waits.over())
                under_way.restart()
                waits.restart()

    def _quick(self) -> float:
        """Return the time within which most statements answer, so that nobody need look at the locks."""
        return min(max(4 * self._usual_seconds, _QUICK_SECONDS), _LAST_SECONDS)

    def others(self, session: Session) -> list[Session]:
        """Return the other sessions whose replies are still to come."""
        running = (other for other in self._sessions if other is not session and other.running is not None)
        return [other for other in running if other.busy()]

    def all_blocked(self, sessions: Sequence[Session]) -> bool:
        """Whether the statements of all of them wait for locks."""
        return all(self._locks.blocked([session.pid for session in sessions]))

    def _working(self, session: Session) -> list[Session]:
        """Return the sessions whose statements are under way and do not wait for a lock; this one is asked about last."""
        busy = [*self.others(session), session]
        flags = self._locks.blocked([each.pid for each in busy])
        return [each for each, blocked in zip(busy, flags, strict=True) if not blocked]

    @staticmethod
    def _busy(session: Session) -> bool:
        busy = session.busy()
        session.show_notices()
        return busy
