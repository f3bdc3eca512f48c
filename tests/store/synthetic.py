"""A history as a run of several workers would record it, for sizes and round trips: interleaved by a seeded choice."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from simrunner.model.event import Event

START = 1_790_057_000_000_000
WORKERS = ("worker-a", "worker-b", "worker-c", "worker-d")


class _Recorder:
    """Numbers events and fills the columns that every event has."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.events: list[Event] = []
        self.step = 0
        self.txn = 0
        self.clock = START
        self.wall = START

    def add(self, kind: str, **columns: Any) -> None:
        self.wall += self.chance.randrange(20, 200)
        event = Event(
            len(self.events) + 1,
            "safety",
            self.step // 40,
            self.step,
            kind=kind,
            virtual_time=self.clock,
            wall_time=self.wall,
        )
        self.events.append(event._replace(**columns))

    def statement(self, label: str, rows: int, **columns: Any) -> None:
        self.step += 1
        self.clock += 1000
        columns |= {"value": label, "snapshot_seq": max(len(self.events) - self.chance.randrange(12), 0)}
        self.add("sent", **columns)
        self.add("ok", rows=rows, duration_us=self.chance.randrange(80, 400), **columns)


def synthetic(jobs: int, seed: int = 1) -> list[Event]:
    """Return the history of `jobs` jobs, each claimed, worked on and completed by one of four interleaved workers."""
    recorder = _Recorder(seed)
    for job in range(1, jobs + 1):
        recorder.add("seed", phase="setup", actor="observer", operation="seed", job=job, cohort="seed", **_ready(job))
    waiting = iter(range(1, jobs + 1))
    lanes = [_worker(recorder, worker, waiting) for worker in range(len(WORKERS))]
    while lanes:
        lane = recorder.chance.choice(lanes)
        if next(lane, None) is None:
            lanes.remove(lane)
    return recorder.events


def chunks(events: list[Event], size: int) -> Iterator[list[Event]]:
    """Yield the events in runs of `size`, as a coordinator appends them."""
    for start in range(0, len(events), size):
        yield events[start : start + size]


def _ready(job: int) -> dict[str, Any]:
    order_key = f"[0,{START},{START - 3_600_000_000 + job * 1_000_000},{job}]"
    return {
        "generation": 0,
        "attempt": 0,
        "to_state": "ready",
        "held": 0,
        "order_key": order_key,
        "rank": job,
        "available_at": START,
    }


def _worker(recorder: _Recorder, worker: int, waiting: Iterator[int]) -> Iterator[bool]:
    for job in waiting:
        who = {"actor": WORKERS[worker], "incarnation": 1 + job // 500, "session": worker + 1}
        who |= {"os_pid": 40_000 + worker, "backend_pid": 41_000 + worker}
        for operation in ("claim", "effect", "complete"):
            recorder.txn += 1
            of_txn = {**who, "operation": operation, "txn": recorder.txn, "txn_time": recorder.clock + 1000, "token": job}
            yield from _transaction(recorder, job, of_txn)


def _transaction(recorder: _Recorder, job: int, of_txn: dict[str, Any]) -> Iterator[bool]:
    recorder.statement("BEGIN", 0, **of_txn)
    yield True
    if of_txn["operation"] == "claim":
        for rank in range(1, recorder.chance.randrange(2, 5)):
            blocked_by = recorder.chance.choice((None, *WORKERS))
            recorder.add("probe", job=job + rank - 1, rank=rank, blocked_by=blocked_by, **of_txn)
    recorder.statement("1", 1, **of_txn)
    if of_txn["operation"] == "claim":
        recorder.add("read", job=job, lease_until=of_txn["txn_time"] + 30_000_000, attempt=1, **of_txn)
    yield True
    recorder.statement("COMMIT", 0, **of_txn)
    _outcome(recorder, job, of_txn)
    yield True


def _outcome(recorder: _Recorder, job: int, of_txn: dict[str, Any]) -> None:
    columns = {**of_txn, "job": job, "attempt": 1, "xid": 900 + of_txn["txn"]}
    if of_txn["operation"] == "effect":
        recorder.add("effect", key=job, **columns)
        return
    change = {"claim": ("ready", "claimed", 15), "complete": ("claimed", "done", 17)}[of_txn["operation"]]
    columns |= {"from_state": change[0], "to_state": change[1], "held": change[2], "generation": 1, "cohort": "seed"}
    columns |= {"owner": f"{of_txn['actor']}.{of_txn['incarnation']}", "available_at": START}
    recorder.add("transition", lease_until=of_txn["txn_time"] + 30_000_000, **columns)
