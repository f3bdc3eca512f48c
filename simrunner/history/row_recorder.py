"""The rows of a hand-written history: the fixture, and what the transactions of actors change when they commit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from simrunner.history.by_hand import CREATED_US, START_US, Edit, HandRow, split
from simrunner.history.recorder import Recorder
from simrunner.model.event import OBSERVER


class RowRecorder(Recorder):
    """Keeps the committed rows and tells their changes. Jobs are named by ordinals from 1."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[int, HandRow] = {}
        """The committed rows by job."""
        self.locks: dict[int, str] = {}
        """The actor whose open claim locks a job."""

    def seed(self, jobs: int, *, priority: int = 0, cohort: str | None = "seed", **columns: Any) -> None:
        """Add some more ready jobs to the fixture."""
        for job in range(len(self.rows) + 1, len(self.rows) + jobs + 1):
            row = HandRow(job, cohort, job, priority, START_US, CREATED_US + job * 1_000_000)
            fields, rest = split(columns)
            self.rows[job] = replace(row, **fields)
            self.event("seed", **({"actor": OBSERVER} | self.rows[job].columns() | {"rank": self.rank(job)} | rest))

    def enqueue(self, actor: str = "producer-1", *, priority: int = 0, cohort: str | None = None, **columns: Any) -> int:
        """Add one job by an actor's transaction. Returns its ordinal."""
        job = max(self.rows, default=0) + 1
        self.begin(actor, "enqueue")
        row = HandRow(job, cohort, job, priority, self.now, self.now)
        self.sent(actor, job=job)
        self.ok(actor, rows=1)
        common = self.open_txn(actor).columns
        self.on_commit(actor, lambda: self._insert(common, row, columns))
        self.commit(actor)
        return job

    def _insert(self, common: dict[str, Any], row: HandRow, columns: dict[str, Any]) -> None:
        fields, rest = split(columns)
        self.rows[row.job] = replace(row, **fields)
        told = self.rows[row.job].columns() | {"rank": self.rank(row.job)}
        self.event("transition", **(common | told | rest))

    def change(self, actor: str, job: int, edit: Edit, **columns: Any) -> None:
        """Change a job's row when the actor's open transaction commits: a `transition`, or a `renewal` if its state stays."""
        common = self.open_txn(actor).columns
        self.on_commit(actor, lambda: self._apply(common, job, edit, columns))

    def _apply(self, common: dict[str, Any], job: int, edit: Edit, columns: dict[str, Any]) -> None:
        fields, rest = split(columns)
        old = self.rows[job]
        new = edit(old)
        if new is None:
            del self.rows[job]
            gone = {"from_state": str(old.state), "to_state": None, "order_key": None, "held": None}
            self.event("transition", **(common | old.columns() | gone | rest))
            return
        self.rows[job] = new = replace(new, **fields)
        kind, told = self._told(old, new)
        self.event(kind, **(common | told | rest))

    def _told(self, old: HandRow, new: HandRow) -> tuple[str, dict[str, Any]]:
        told = new.columns() | {"rank": self.rank(new.job)}
        if (old.state, old.generation) == (new.state, new.generation):
            return "renewal", told
        told["from_state"] = str(old.state)
        if old.state == "claimed" and old.generation == new.generation:
            told |= {"owner": old.owner, "token": old.token, "lease_until": old.lease_until}
        return "transition", told

    def rank(self, job: int) -> int | None:
        """Return 1 + the number of ready jobs ahead of a ready job; None if it is not ready."""
        own = self.rows[job]
        if own.state != "ready":
            return None
        return 1 + sum(1 for row in self.rows.values() if row.state == "ready" and row.order < own.order)

    def close(self, actor: str, *, durable: bool) -> None:
        """End the transaction and its row locks."""
        self.locks = {job: holder for job, holder in self.locks.items() if holder != actor}
        super().close(actor, durable=durable)
