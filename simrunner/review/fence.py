"""Writes of an owner, and of a recovery that reads first, that do not check whose claim they end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sqlglot import exp

from simrunner.model.design import Ownership
from simrunner.model.operations import FENCED_WRITES
from simrunner.model.remark import Level, Remark
from simrunner.review.reading import Read, Reading, lock_of, targets


class _Rule(NamedTuple):
    """What a write must check."""

    name: str
    fence: tuple[str, ...]
    """Parameters of which one must occur in a condition."""
    message: str
    remedy: str


_OWNED = _Rule(
    "unfenced-write",
    ("worker_id", "token", "attempt"),
    "checks neither owner nor token nor attempt: a worker that has lost its claim can still end or change that of the next owner",
    'add the owner and the token of the claim to its WHERE, and take no returned row for "no longer mine"',
)
_SAME_CLAIM = _Rule(
    "unfenced-recovery",
    ("token", "attempt"),
    "does not check that the claim is still the one that recover-read saw: a job that was completed or claimed again in between"
    " is put back",
    "add the token or the attempt that was read to its WHERE",
)


def owner(reading: Reading) -> Iterator[Remark]:
    """A completion, failure, release or heartbeat by a former owner must change nothing.

    Under `ownership = lock` the row lock of the open transaction is the fence.
    """
    if reading.design.ownership is not Ownership.LOCK:
        for operation in FENCED_WRITES:
            yield from _unfenced(reading.of(operation), operation, _OWNED)


def recovery(reading: Reading) -> Iterator[Remark]:
    """A recovery that reads lapsed claims and writes later must check that each is still the claim that was read."""
    yield from _unfenced(reading.of("recover-write"), "recover-write", _SAME_CLAIM)


def _unfenced(reads: Iterable[Read], operation: str, rule: _Rule) -> Iterator[Remark]:
    checked_before = False
    for read in reads:
        writes = list(targets(read, exp.Update, exp.Delete))
        checks = _checks(read, rule.fence)
        if (writes or _hands_on(read, rule.fence)) and not checks and not checked_before:
            place = read.place(writes[0]) if writes else read.place()
            yield Remark(Level.WARNING, rule.name, f"{operation} {rule.message}", rule.remedy, place)
        checked_before = checked_before or (checks and _locks(read))


def _hands_on(read: Read, fence: tuple[str, ...]) -> bool:
    """Whether a statement has a function write that is given the job and nothing to check it by.

    What a function does with a token that it is given cannot be seen from here.
    """
    given = {name for call in read.all(exp.Func) for name in read.parameters_in(call)}
    return "job_id" in given and not given & set(fence)


def _checks(read: Read, fence: tuple[str, ...]) -> bool:
    """Whether some condition of the statement names a parameter of the fence."""
    return any(name in read.parameters_in(where) for where in read.all(exp.Where, exp.Join) for name in fence)


def _locks(read: Read) -> bool:
    return any(lock_of(select) is not None for select in read.all(exp.Select))
