"""How long each job waited and how many claims went by: per job, because totals can look healthy beside a stranded one."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from simrunner.checkers.stays import Stay, stays_of
from simrunner.history.history import History
from simrunner.model.event import Event


@dataclass(frozen=True, slots=True)
class Wait:
    """One stay: a period in which a job was ready."""

    job: int
    in_cohort: bool
    entry: Event
    end: Event | None
    """The transition that ended it; None: it was ready to the end."""
    waited_ms: int
    """Virtual time from its availability to its end, or to the end of the run."""
    passed: int
    """Committed claims of other jobs meanwhile."""
    newer: int
    """Those among them whose job became ready later than this one."""

    @property
    def ahead(self) -> int | None:
        """Ready jobs that stood before it when it entered."""
        return None if self.entry.rank is None else self.entry.rank - 1

    @property
    def is_recovery(self) -> bool:
        """Whether it began because a lapsed claim was recovered."""
        return self.entry.from_state == "claimed" and (self.entry.operation or "").startswith("recover")


def waits_of(history: History) -> tuple[Wait, ...]:
    """Return all stays of all jobs whose order is known, in order of entry."""
    stays = stays_of(history)
    claims = sorted((stay for stay in stays if stay.end is not None and stay.window is not None), key=_claimed_seq)
    seqs = [_claimed_seq(stay) for stay in claims]
    return tuple(_wait(stay, claims, seqs, history.events[-1]) for stay in stays)


def longest_waits(waits: Sequence[Wait]) -> tuple[Wait, ...]:
    """Return the longest stay of each job of the cohort, in order of the jobs."""
    found: dict[int, Wait] = {}
    for wait in waits:
        if wait.in_cohort and (wait.job not in found or wait.waited_ms > found[wait.job].waited_ms):
            found[wait.job] = wait
    return tuple(found[job] for job in sorted(found))


def _claimed_seq(stay: Stay) -> int:
    return 0 if stay.end is None else stay.end.seq


def _wait(stay: Stay, claims: Sequence[Stay], seqs: Sequence[int], last: Event) -> Wait:
    end = stay.end or last
    passing = claims[bisect_right(seqs, stay.entry.seq) : bisect_left(seqs, end.seq)]
    newer = sum(1 for other in passing if other.entry.seq > stay.entry.seq)
    until, since = end.virtual_time or 0, max(stay.entry.virtual_time or 0, stay.entry.available_at or 0)
    return Wait(stay.job, stay.in_cohort, stay.entry, stay.end, max(0, until - since) // 1000, len(passing), newer)
