"""The committed state of every job as last read from the database, and what a newly read row means against it.

A pure value store: it is told what the database said and never guesses.
"""

from __future__ import annotations

import json
from bisect import bisect_left, insort
from collections.abc import Iterable
from typing import NamedTuple

from simrunner.model.job import JobRow, JobState


class Change(NamedTuple):
    """What one committed change of a job's row means."""

    job: str
    old: JobRow | None
    new: JobRow | None
    generation: int
    """After the change."""
    is_transition: bool
    """The pair (state, generation) changed; otherwise it is a renewal."""
    changed: tuple[str, ...]
    """Names of the canonical columns that differ."""
    rank: int | None
    """Of a job that is ready and has an order: 1 + ready jobs ahead of it."""

    @property
    def is_claim(self) -> bool:
        """A claim: it raised the generation."""
        return self.new is not None and self.new.state is JobState.CLAIMED and self.is_transition

    @property
    def ends_claim(self) -> bool:
        """It ended a claim without beginning another."""
        return self.old is not None and self.old.state is JobState.CLAIMED and self.is_transition and not self.is_claim


class Committed:
    """Canonical rows by job id, generations, and the ready jobs in claim order."""

    def __init__(self) -> None:
        self.rows: dict[str, JobRow] = {}
        self.generations: dict[str, int] = {}
        self._ready: list[tuple[tuple[int | str, ...], str]] = []

    def load(self, rows: Iterable[JobRow]) -> list[Change]:
        """Take the state in which the run begins; returns one change per job, in claim order where there is one, else by id."""
        self.rows = {row.job: row for row in rows}
        self.generations = dict.fromkeys(self.rows, 0)
        ordered = sorted((row for row in self.rows.values() if _is_ranked(row)), key=_place)
        self._ready = [_place(row) for row in ordered]
        ranks = {row.job: rank for rank, row in enumerate(ordered, 1)}
        # in the order of their ids, numbers by value: the order in which a scan happens to return them must not name them
        others = sorted((row for row in self.rows.values() if row.job not in ranks), key=lambda row: (len(row.job), row.job))
        return [Change(row.job, None, row, 0, True, (), ranks.get(row.job)) for row in (*ordered, *others)]

    def apply(self, job: str, new: JobRow | None, *, claimed: bool = False) -> Change:
        """Take a job's row as it is committed now (None: it is gone).

        `claimed`: the claim of the transaction that changed it had returned it. Then it is a claim whatever became of it.
        """
        return self._take(job, new, 1 if claimed else _claims(self.rows.get(job), new))

    def restore(self, job: str, new: JobRow | None) -> Change:
        """Take a job's row as a crash of the server has left it: no claim, whatever it looks like."""
        return self._take(job, new, 0)

    def _take(self, job: str, new: JobRow | None, claims: int) -> Change:
        old = self.rows.get(job)
        generation = self.generations.get(job, 0) + claims
        self._move(old, new)
        if new is None:
            self.rows.pop(job, None)
        else:
            self.rows[job] = new
        self.generations[job] = generation
        transition = bool(claims) or (old.state if old else None) != (new.state if new else None)
        return Change(job, old, new, generation, transition, _changed(old, new), self._rank(new))

    def _move(self, old: JobRow | None, new: JobRow | None) -> None:
        if old is not None and _is_ranked(old):
            del self._ready[bisect_left(self._ready, _place(old))]
        if new is not None and _is_ranked(new):
            insort(self._ready, _place(new))

    def _rank(self, row: JobRow | None) -> int | None:
        return bisect_left(self._ready, _place(row)) + 1 if row is not None and _is_ranked(row) else None


def order_text(row: JobRow) -> str | None:
    """The order key of a ready job as the history keeps it: a JSON array."""
    return json.dumps(row.order_key, separators=(",", ":")) if _is_ranked(row) else None


def _claims(old: JobRow | None, new: JobRow | None) -> int:
    """1 if the change is a claim: to claimed from another state, or from another owner's or token's claim (a steal)."""
    if new is None or new.state is not JobState.CLAIMED:
        return 0
    if old is None or old.state is not JobState.CLAIMED:
        return 1
    return int((old.owner, old.token) != (new.owner, new.token))


def _changed(old: JobRow | None, new: JobRow | None) -> tuple[str, ...]:
    if old is None or new is None:
        return ()
    return tuple(name for name, before, after in zip(JobRow._fields, old, new, strict=True) if before != after)


def _is_ranked(row: JobRow) -> bool:
    return row.state is JobState.READY and row.order_key is not None


def _place(row: JobRow) -> tuple[tuple[int | str, ...], str]:
    return row.order_key or (), row.job
