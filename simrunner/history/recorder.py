"""The lower half of the builder: appends events one by one, filling seq, phase, step, clock, processes and sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simrunner.history.by_hand import MS, START_US, HandTxn
from simrunner.model.event import OBSERVER, Event

_COMMITTED = ("transition", "renewal", "effect")
_PROGRAMS = ("producer", "recoverer", "ghost")


class Recorder:
    """Appends events. Actors start on first use, and again on their first use after a kill."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.now = START_US
        """The virtual clock in microseconds."""
        self._phase = "setup"
        self._round: int | None = None
        self._step = 0
        self._last_commit: int | None = None
        self._incarnations: dict[str, int] = {}
        self._living: dict[str, int] = {}
        self._sessions: dict[str, int] = {}
        self._session_count = 0
        self._txn_count = 0
        self._txns: dict[str, HandTxn] = {}
        self._outstanding: dict[str, dict[str, Any]] = {}
        self.event("run", value="start")
        self.event("phase", actor=OBSERVER, value="setup")

    def event(self, kind: str, **columns: Any) -> Event:
        """Append one event as given; only seq, phase, round, step and virtual_time are filled in."""
        place: dict[str, Any] = {"phase": self._phase, "virtual_time": self.now}
        if self._phase in ("safety", "liveness"):
            place |= {"round": self._round, "step": self._step}
        told: dict[str, Any] = {"seq": len(self.events) + 1, "kind": kind} | place | columns
        event = Event(**told)
        self.events.append(event)
        if kind in _COMMITTED:
            self._last_commit = event.seq
        return event

    def phase(self, name: str) -> None:
        """Begin a phase: safety, liveness or end."""
        self._phase = name
        self._round = 1 if self._round is None else self._round
        self.event("phase", actor=OBSERVER, value=name)

    def round(self, number: int) -> None:
        """Begin a round; the first step of an actor begins round 1 of the safety phase by itself."""
        self._in_phase()
        self._round = number

    def clock(self, ms: int) -> None:
        """Advance the virtual clock by some milliseconds."""
        self.now += ms * MS
        self.event("clock", value=str(ms))

    def tick(self) -> None:
        """Begin the next step: the clock goes on by one millisecond."""
        self._in_phase()
        self._step += 1
        self.now += MS

    def _in_phase(self) -> None:
        if self._phase == "setup":
            self.phase("safety")

    def start(self, actor: str) -> None:
        """Start an actor's next process."""
        self._in_phase()
        self._incarnations[actor] = self._incarnations.get(actor, 0) + 1
        self._living[actor] = self._incarnations[actor]
        program = next((name for name in _PROGRAMS if actor.startswith(name)), "worker")
        self.event("process-start", actor=actor, incarnation=self._living[actor], value=program)

    def who(self, actor: str) -> dict[str, Any]:
        """Return the columns actor and incarnation; starts the process if there is none."""
        if actor not in self._living:
            self.start(actor)
        return {"actor": actor, "incarnation": self._living[actor]}

    def begin(self, actor: str, operation: str) -> int:
        """Send BEGIN of an operation's transaction. Returns the number of the transaction."""
        who = self.who(actor)
        if actor not in self._sessions:
            self._session_count += 1
            self._sessions[actor] = self._session_count
        self._txn_count += 1
        self._begin_step(actor, who, operation)
        return self._txn_count

    def _begin_step(self, actor: str, who: dict[str, Any], operation: str) -> None:
        self.tick()
        own = {"session": self._sessions[actor], "txn": self._txn_count, "operation": operation, "txn_time": self.now}
        self._txns[actor] = HandTxn(who | own)
        self.sent(actor, "BEGIN", tick=False)
        self.ok(actor, rows=0)

    def open_txn(self, actor: str) -> HandTxn:
        """Return the actor's open transaction. Raises ValueError if there is none."""
        if actor not in self._txns:
            raise ValueError(f"{actor} has no open transaction")
        return self._txns[actor]

    def sent(self, actor: str, value: str = "1", *, tick: bool = True, **columns: Any) -> Event:
        """Send one statement of the open transaction; `value` is its label."""
        if tick:
            self.tick()
        common = self.open_txn(actor).columns | {"value": value} | columns
        self._outstanding[actor] = common
        return self.event("sent", **(common | {"snapshot_seq": self._last_commit}))

    def blocked(self, actor: str, by: str) -> Event:
        """Let the statement wait for the locks of other actors (comma-separated)."""
        return self.event("blocked", **(self._outstanding[actor] | {"blocked_by": by}))

    def freed(self, actor: str) -> Event:
        """Let the statement go on."""
        return self.event("freed", **self._outstanding[actor])

    def ok(self, actor: str, rows: int = 0, **columns: Any) -> Event:
        """Let the outstanding statement succeed."""
        return self.event("ok", **(self._outstanding.pop(actor) | {"rows": rows} | columns))

    def failed(self, actor: str, sqlstate: str) -> Event:
        """Let the outstanding statement fail; a failed COMMIT ends the transaction."""
        statement = self._outstanding.pop(actor)
        event = self.event("failed", **(statement | {"sqlstate": sqlstate}))
        if statement["value"] == "COMMIT":
            self.close(actor, durable=False)
        return event

    def read(self, actor: str, job: int, **columns: Any) -> Event:
        """Record one row that the last statement returned."""
        return self.event("read", **(self.open_txn(actor).columns | {"job": job} | columns))

    def probe(self, actor: str, job: int, rank: int, blocked_by: str | None = None) -> Event:
        """Record one candidate just before a claim's statement is sent."""
        return self.event("probe", **(self.open_txn(actor).columns | {"job": job, "rank": rank, "blocked_by": blocked_by}))

    def on_commit(self, actor: str, emit: Callable[[], object]) -> None:
        """Do something when the open transaction commits."""
        self.open_txn(actor).pending.append(emit)

    def commit(self, actor: str, *, ack: bool = True, durable: bool = True) -> None:
        """Send COMMIT. Without `ack` no answer comes before the process is killed; not `durable`: nothing is committed."""
        self.sent(actor, "COMMIT")
        if ack:
            self.ok(actor)
            self.close(actor, durable=durable)
        else:
            self.open_txn(actor).commit_is_durable = durable

    def rollback(self, actor: str, *, durable: bool = False) -> None:
        """Send ROLLBACK; `durable` is the mistake that its changes are committed all the same."""
        self.sent(actor, "ROLLBACK")
        self.ok(actor)
        self.close(actor, durable=durable)

    def close(self, actor: str, *, durable: bool) -> None:
        """End the transaction without an event of its own; what was pending becomes visible if it is durable."""
        txn = self._txns.pop(actor)
        if durable:
            for emit in txn.pending:
                emit()

    def kill(self, actor: str, crash_point: str | None = None, *, gone: bool = True) -> None:
        """Kill the actor's process with SIGKILL; unless `gone` is False its server process leaves at once."""
        self.tick()
        who = self.who(actor)
        self.event("fault", **(who | {"value": "kill", "crash_point": crash_point}))
        if actor in self._outstanding:
            self.event("unknown", **self._outstanding.pop(actor))
        self.event("process-end", **(who | {"value": "SIGKILL"}))
        del self._living[actor]
        if gone:
            self.backend_gone(actor)

    def backend_gone(self, actor: str, *, durable: bool = False) -> None:
        """Let the server process of a killed actor leave; `durable` is the mistake that its open changes are committed."""
        if actor not in self._sessions:
            return
        txn = self._txns.get(actor)
        who = {"actor": actor, "incarnation": self._incarnations[actor], "session": self._sessions.pop(actor)}
        self.event("backend-gone", **(who | {"txn": txn.columns["txn"] if txn else None}))
        if txn:
            self.close(actor, durable=durable or txn.commit_is_durable is True)
