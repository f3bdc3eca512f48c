"""A client of the queue, as its process knows itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from simrunner.model.design import Design
from simrunner.model.workload import Workload
from simrunner.runtime.session import ConnectionLost, Session, Subject


@dataclass(slots=True)
class Client:
    """A client of the queue: who it is and what it knows."""

    sessions: list[Session]
    """One for each of its connections."""
    design: Design
    workload: Workload
    identity: str
    """Worker and incarnation, e.g. `worker-a.2`: what the design stores as the owner."""
    name: str
    """Of the process: the same, unless it has the identity of a dead one."""
    connect: Callable[[int], Session]
    """Open the next session of a connection, once one has ended."""
    claims: int = 0
    held: list[Subject] = field(default_factory=list)
    """Jobs that it has claimed and not completed, as it believes."""
    subject: Subject = field(default_factory=Subject)
    """Scripted session: the job and token of its last claim."""
    open_operation: str | None = None
    """Scripted session: what the transaction that the script holds open has done; None: there is none."""
    holds_claim: bool = False
    """Scripted session: a claim has begun the open transaction, because the design does the work inside it."""

    @property
    def session(self) -> Session:
        """That of its first connection."""
        return self.sessions[0]

    def session_of(self, operation: str) -> Session:
        """That of the connection on which the design runs an operation."""
        return self.sessions[self.design.connection_of(operation)]

    def reconnect(self, lost: ConnectionLost) -> None:
        """Go on with a new session in place of one that has ended: what was open in that is gone."""
        self.sessions[lost.place] = self.connect(lost.place)
        if lost.place == 0:
            self.open_operation, self.holds_claim = None, False

    def next_token(self) -> str:
        """A token unique to the attempt: process and claim ordinal."""
        self.claims += 1
        return f"{self.name}/{self.claims}"
