"""Write a history by hand in a few lines: every call does what a correct run would do, each mistake is an override.

    h = HistoryBuilder()
    h.seed(2)
    h.claim("worker-a")                       # job 1, token 1
    h.kill("worker-a", "after-commit")
    h.clock(60_000)
    h.recover()                               # whatever has lapsed
    h.claim("worker-b", 1)
    h.complete("ghost", 1, token=1)           # refused: rows = 0; `accepted=True` is the mistake
    history = h.build()

Keyword columns of an operation override its `transition`; those that the job's row has too (token, owner, lease_until,
claimed_at, attempt, generation ...) change the row as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from simrunner.history.by_hand import MS, HandRow, reference_context, unowned
from simrunner.history.context import AuditRow
from simrunner.history.history import History
from simrunner.history.row_recorder import RowRecorder

Jobs = int | Sequence[int] | None


class HistoryBuilder(RowRecorder):
    """Builds the history of a design like the reference. Jobs are named by ordinals from 1, tokens by ordinals of claims."""

    def __init__(self, *, lease_ms: int = 30_000, batch: int = 1) -> None:
        super().__init__()
        self.token_names: dict[int, str] = {}
        self.lease_ms = lease_ms
        self.batch = batch
        self._claimed: dict[str, dict[int, int | None]] = {}
        self._keys: list[int | None] = []

    # claims

    def claim(self, actor: str, job: Jobs = None, *, probe: bool = True, commit: bool = True, **columns: Any) -> int:
        """Claim the given jobs, or the first that is eligible and not locked. Returns the token's ordinal.

        `commit=False` leaves the transaction open: `commit`, `rollback` or `kill` follows. `token` overrides the token.
        """
        self.begin(actor, "claim")
        token = columns.pop("token", None) or self._new_token(actor)
        candidates = self.send_claim(actor, token, probe=probe)
        jobs = self._jobs(job, [number for number in candidates if number not in self.locks][: self.batch])
        self.claimed(actor, jobs, token, **columns)
        if commit:
            self.commit(actor)
        return token

    def claim_nothing(self, actor: str, *, probe: bool = True) -> None:
        """Claim and get no row."""
        self.begin(actor, "claim")
        self.send_claim(actor, self._new_token(actor), probe=probe)
        self.ok(actor, rows=0)
        self.commit(actor)

    def send_claim(self, actor: str, token: int, *, probe: bool = True) -> list[int]:
        """Record the candidates and send the claim's statement in the open transaction. Returns the candidates."""
        self.tick()
        candidates = self._candidates(self.open_txn(actor).time)
        for rank, job in enumerate(candidates if probe else (), 1):
            self.probe(actor, job, rank, self.locks.get(job))
        self.sent(actor, tick=False, token=token, rows=len(candidates) if probe else None)
        return candidates

    def claimed(self, actor: str, jobs: Sequence[int], token: int, **columns: Any) -> None:
        """Let the claim's outstanding statement return these jobs."""
        self.ok(actor, rows=len(jobs))
        for job in jobs:
            self._claim_row(actor, job, token, columns)

    def _claim_row(self, actor: str, job: int, token: int, columns: dict[str, Any]) -> None:
        txn = self.open_txn(actor)
        lease = txn.time + self.lease_ms * MS
        owner = f"{actor}.{txn.columns['incarnation']}"
        own: dict[str, Any] = {"state": "claimed", "owner": owner, "token": token, "claimed_at": txn.time, "lease_until": lease}

        def edit(row: HandRow) -> HandRow:
            return replace(row, generation=row.generation + 1, attempt=row.attempt + 1, **own)

        self.read(actor, job, token=token, attempt=self.rows[job].attempt + 1, lease_until=lease)
        self._claimed.setdefault(actor, {}).pop(job, None)
        self._claimed[actor][job] = token
        self.locks[job] = actor
        self.change(actor, job, edit, **columns)

    def _candidates(self, as_of: int) -> list[int]:
        eligible = [row for row in self.rows.values() if row.state == "ready" and row.available_at <= as_of]
        found: list[int] = []
        wanted = self.batch + 1
        for row in sorted(eligible, key=lambda row: row.order):
            if wanted:
                found.append(row.job)
                wanted -= row.job not in self.locks
        return found

    def _new_token(self, actor: str) -> int:
        token = len(self.token_names) + 1
        process = f"{actor}.{self.who(actor)['incarnation']}"
        ordinal = 1 + sum(1 for name in self.token_names.values() if name.startswith(f"{process}/"))
        self.token_names[token] = f"{process}/{ordinal}"
        return token

    # writes of owners

    def complete(self, actor: str, job: int | None = None, **options: Any) -> None:
        """Complete a claimed job. Options as of `write`."""
        self.write(
            actor, "complete", job, lambda row, time: replace(row, state="done", completed_at=time, lease_until=None), **options
        )

    def fail(self, actor: str, job: int | None = None, *, to: str = "ready", **options: Any) -> None:
        """Report a failure: the job becomes ready again or `failed`. Options as of `write`."""
        self.write(actor, "fail", job, lambda row, time: unowned(row, to, time), **options)

    def release(self, actor: str, job: int | None = None, **options: Any) -> None:
        """Give a claimed job back. Options as of `write`."""
        self.write(actor, "release", job, lambda row, time: unowned(row, "ready", time), **options)

    def heartbeat(self, actor: str, job: int | None = None, **options: Any) -> None:
        """Renew the lease. Options as of `write`."""
        lease = self.lease_ms * MS
        options = {"value": "lease_until"} | options
        self.write(actor, "heartbeat", job, lambda row, time: replace(row, lease_until=time + lease), **options)

    def write(
        self,
        actor: str,
        operation: str,
        job: int | None,
        edit: Callable[[HandRow, int], HandRow | None],
        *,
        token: int | None = None,
        accepted: bool | None = None,
        commit: bool = True,
        **columns: Any,
    ) -> None:
        """Send one fenced write of the actor's last claim, or of another job or token. `edit` gets the row and txn_time.

        It changes the row exactly if that is claimed with this token, unless `accepted` says otherwise.
        """
        self.begin(actor, operation)
        job = self._own_job(actor, job)
        time = self.open_txn(actor).time
        token = self._claimed.get(actor, {}).get(job) if token is None else token
        row = self.rows.get(job)
        matches = (row is not None and row.state == "claimed" and row.token == token) if accepted is None else accepted
        self.sent(actor, job=job, token=token, attempt=row.attempt if row else None)
        self.ok(actor, rows=int(matches))
        if matches:
            self.change(actor, job, lambda row: edit(row, time), **columns)
        if commit:
            self.commit(actor)

    def kill(self, actor: str, crash_point: str | None = None, *, gone: bool = True) -> None:
        """Kill the actor's process with SIGKILL; unless `gone` is False its server process leaves at once."""
        self._claimed.pop(actor, None)
        super().kill(actor, crash_point, gone=gone)

    def _own_job(self, actor: str, job: int | None) -> int:
        if job is not None:
            return job
        claimed = self._claimed.get(actor)
        if not claimed:
            raise ValueError(f"{actor} has claimed nothing: name the job")
        return next(reversed(claimed))

    # work

    def work_start(self, actor: str, job: int | None = None, **columns: Any) -> None:
        """Begin to work on a claimed job."""
        self._work("work-start", actor, job, columns)

    def work_end(self, actor: str, job: int | None = None, **columns: Any) -> None:
        """End the work on a claimed job."""
        self._work("work-end", actor, job, columns)

    def _work(self, kind: str, actor: str, job: int | None, columns: dict[str, Any]) -> None:
        self.tick()
        job = self._own_job(actor, job)
        token = self._claimed.get(actor, {}).get(job)
        self.event(kind, **(self.who(actor) | {"job": job, "token": token, "attempt": self.rows[job].attempt} | columns))

    def effect(self, actor: str, job: int | None = None, *, accepted: bool | None = None, **columns: Any) -> None:
        """Commit an effect in a transaction of its own; refused when its key has one, unless `accepted` says otherwise."""
        job = self._own_job(actor, job)
        key: int | None = columns.get("key", self.rows[job].key)
        self.begin(actor, "effect")
        token = self._claimed.get(actor, {}).get(job)
        own: dict[str, Any] = {"job": job, "key": key, "token": token, "attempt": self.rows[job].attempt}
        self.sent(actor, **own)
        lands = key not in self._keys if accepted is None else accepted
        self.ok(actor, rows=int(lands))
        if lands:
            self._keys.append(key)
            told = self.open_txn(actor).columns | own | columns
            self.on_commit(actor, lambda: self.event("effect", **told))
        self.commit(actor)

    # recovery

    def recover(
        self,
        actor: str = "recoverer-1",
        job: Jobs = None,
        *,
        to: str = "ready",
        operation: str = "recover",
        commit: bool = True,
        **columns: Any,
    ) -> None:
        """Make the given jobs ready again, or all whose lease has lapsed."""
        self.begin(actor, operation)
        time = self.open_txn(actor).time
        lapsed = [row.job for row in self.rows.values() if row.state == "claimed" and (row.lease_until or time) < time]
        jobs = self._jobs(job, lapsed)
        self.sent(actor, job=jobs[0] if operation == "recover-write" else None)
        self.ok(actor, rows=len(jobs))
        for number in jobs:
            self.change(actor, number, lambda row: unowned(row, to, time), **columns)
        if commit:
            self.commit(actor)

    def _jobs(self, job: Jobs, default: list[int]) -> list[int]:
        if job is None:
            return default
        return [job] if isinstance(job, int) else list(job)

    # the result

    def build(self, **context: Any) -> History:
        """Return the history so far; keyword arguments override fields of the `reference_context`.

        A completed run ends with its `run` event, and its final rows and audit trail agree with the transitions.
        """
        completed = context.get("completed", True)
        if completed:
            self.phase("end")
            self.event("run", value="end")
        usual: dict[str, Any] = {
            "lease_ms": self.lease_ms,
            "batch": self.batch,
            "final_jobs": tuple((job, row.canonical(self.token_names)) for job, row in self.rows.items()) if completed else None,
            "audit": self._audit() if completed else None,
            "job_names": {job: str(job) for job in self.rows},
            "token_names": self.token_names,
        }
        return History(self.events, reference_context(**(usual | context)))

    def _audit(self) -> tuple[AuditRow, ...]:
        told = [event for event in self.events if event.kind == "transition" and event.job is not None]
        return tuple(AuditRow(event.job or 0, event.attempt, event.token, event.from_state, event.to_state) for event in told)
