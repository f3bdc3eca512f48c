"""Write by hand the history of a design whose claim is the row lock: claim, work and completion are one transaction.

    h = LockBuilder()
    h.seed(2)
    h.lock("worker-a")                        # job 1, locked until the transaction ends
    h.effect("worker-a")
    h.complete("worker-a")
    h.commit("worker-a")
    history = h.build()

Each mistake is an override, as in `simrunner.history.builder`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from simrunner.history.builder import HistoryBuilder, Jobs
from simrunner.history.by_hand import REFERENCE_ORDER, HandRow
from simrunner.history.history import History
from simrunner.model.design import Ownership, Promises

TRANSITIONS = frozenset({(None, "ready"), ("ready", "done"), ("ready", "ready"), ("ready", "failed")})


class LockBuilder(HistoryBuilder):
    """Builds the history of a design like `variants/lock-only`. Writes go into the open transaction of the actor's claim."""

    def lock(self, actor: str, job: Jobs = None, *, probe: bool = True, **columns: Any) -> None:
        """Claim the given jobs, or the first that is eligible and not locked, and leave the transaction open."""
        self.begin(actor, "claim")
        candidates = self.send_claim(actor, self._new_token(actor), probe=probe)
        jobs = self._jobs(job, [number for number in candidates if number not in self.locks][: self.batch])
        self.ok(actor, rows=len(jobs))
        self._claimed[actor] = dict.fromkeys(jobs)
        for number in jobs:
            self.read(actor, number, **({"attempt": self.rows[number].attempt + 1} | columns))
            self.locks[number] = actor

    def work(self, actor: str, **columns: Any) -> None:
        """Work, record the effect, complete and commit."""
        self.work_start(actor)
        self.work_end(actor)
        self.effect(actor)
        self.complete(actor, **columns)
        self.commit(actor)

    def complete(self, actor: str, job: int | None = None, **options: Any) -> None:
        """Complete a job. Options as of `write`."""
        self.write(actor, "complete", job, lambda row, time: replace(row, state="done", completed_at=time), **options)

    def fail(self, actor: str, job: int | None = None, *, to: str = "ready", **options: Any) -> None:
        """Count a failed attempt; the job stays ready, with a new rank, or becomes `failed`. Options as of `write`."""

        def edit(row: HandRow, time: int) -> HandRow:
            return replace(row, state=to, attempt=row.attempt + 1, available_at=time)

        self.write(actor, "fail", job, edit, **options)

    def write(
        self,
        actor: str,
        operation: str,
        job: int | None,
        edit: Callable[[HandRow, int], HandRow | None],
        *,
        token: int | None = None,
        accepted: bool | None = None,
        commit: bool = False,
        **columns: Any,
    ) -> None:
        """Send one write in the open transaction. It raises the generation of a job that the transaction has claimed."""
        job = self._own_job(actor, job)
        time = self._send_inside(actor, operation, job, int(accepted is not False))
        claims = int(job in self._claimed.get(actor, {}))

        def changed(row: HandRow) -> HandRow | None:
            new = edit(row, time)
            return None if new is None else replace(new, generation=row.generation + claims)

        if accepted is not False:
            self.change(actor, job, changed, **columns)
        if commit:
            self.commit(actor)

    def effect(self, actor: str, job: int | None = None, *, accepted: bool | None = None, **columns: Any) -> None:
        """Record an effect in the open transaction."""
        job = self._own_job(actor, job)
        self._send_inside(actor, "effect", job, int(accepted is not False))
        told = self.open_txn(actor).columns | {"job": job, "key": self.rows[job].key} | columns
        if accepted is not False:
            self.on_commit(actor, lambda: self.event("effect", **told))

    def _send_inside(self, actor: str, operation: str, job: int, rows: int) -> int:
        """Send an operation's statement in the open transaction, which is named after it. Returns txn_time."""
        txn = self.open_txn(actor)
        txn.columns = txn.columns | {"operation": operation}
        self.sent(actor, job=job)
        self.ok(actor, rows=rows)
        return txn.time

    def build(self, **context: Any) -> History:
        """Return the history so far; see HistoryBuilder."""
        promises = Promises(frozenset(), order=REFERENCE_ORDER, attempt_counted_at="failure", starvation_claims=10)
        usual: dict[str, Any] = {"ownership": Ownership.LOCK, "transitions": TRANSITIONS, "promises": promises}
        return super().build(**(usual | context))
