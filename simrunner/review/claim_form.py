"""Forms of claim that are known to fail: too many rows, one job twice, waiting for each other."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from simrunner.model.design import Ownership
from simrunner.model.remark import Level, Remark
from simrunner.review.reading import Read, Reading, columns_set, conjuncts, lock_of, targets, unqualified, user_of

_LOCKED = "lock what it reads: put the SELECT into a WITH query with FOR UPDATE SKIP LOCKED and update what that returns"


def over_claims(reading: Reading) -> Iterator[Remark]:
    """A locking sub-query with a limit that the planner may run once per row: each run locks further rows.

    Seen on PostgreSQL 18 with 10 rows for LIMIT 1, behind IN and = ANY and joined in FROM and USING, where statistics said that
    the table had one row. A WITH query with a locking clause is run once
    (https://www.postgresql.org/docs/18/queries-with.html#QUERIES-WITH-CTE-MATERIALIZATION).
    """
    for read in reading.of("claim", "recover-batch"):
        for select in read.all(exp.Select):
            if select.args.get("limit") is not None and select.args.get("locks") and _may_run_per_row(select):
                yield Remark(
                    Level.WARNING,
                    "claim-may-take-too-many",
                    "a sub-query with LIMIT and a locking clause may be run once for each row of the table that it is joined or"
                    " compared with, and then the claim takes more jobs than its limit",
                    "put the sub-query into a WITH query and join that, or write = ANY(ARRAY(SELECT ...))",
                    read.place(select),
                )


def unlocked(reading: Reading) -> Iterator[Remark]:
    """A claim whose read takes no row lock: another worker reads the same job before either has written.

    Whoever waits for the row re-checks its own conditions on the new version alone
    (https://www.postgresql.org/docs/18/transaction-iso.html#XACT-READ-COMMITTED). Not judged above READ COMMITTED, where the
    second writer fails, nor behind advisory locks, LOCK TABLE or an earlier locking read.
    """
    if reading.design.isolation != "read committed":
        return
    reads = reading.of("claim")
    for place, read in enumerate(reads):
        if _is_serialized(read):
            return
        for select in reading.candidates(read):
            if lock_of(select) is None:
                yield from _verdict(reading, reads[place:], read, select)


def waits(reading: Reading) -> Iterator[Remark]:
    """A claim that waits for locked rows, or fails on them."""
    for read in reading.of("claim"):
        for select in reading.candidates(read):
            lock = lock_of(select)
            if lock is not None and lock.args.get("wait") is not False:
                fails = lock.args.get("wait")
                yield Remark(
                    Level.WARNING,
                    "claim-waits",
                    "NOWAIT: a claim fails (SQLSTATE 55P03) as soon as another worker has locked a job that it would take"
                    if fails
                    else "the claim waits for rows that others have locked: workers take turns, and after the wait it may return"
                    " a job out of order",
                    "add SKIP LOCKED to the locking clause",
                    read.place(select),
                )


def _verdict(reading: Reading, reads: list[Read], read: Read, select: exp.Select) -> Iterator[Remark]:
    updates = [write for later in reads for write in targets(later, exp.Update)]
    deletes = [write for later in reads for write in targets(later, exp.Delete)]
    if deletes or any(_is_guarded(write, select) for write in updates):
        yield Remark(
            Level.HINT,
            "claim-may-come-back-empty",
            "the read takes no lock, and the write notices that another worker was first: such a claim returns nothing although"
            " other jobs are ready",
            f"{_LOCKED}; or let workers try again at once",
            read.place(select),
        )
    elif updates or reading.design.ownership is Ownership.LOCK:
        yield Remark(
            Level.WARNING,
            "claim-reads-unlocked",
            "the claim's read takes no row lock, and nothing checks afterwards that the job is still ready: two workers that"
            " read at the same time get the same job",
            _LOCKED if updates else "add FOR UPDATE SKIP LOCKED: the row lock is the claim",
            read.place(select),
        )


def _is_guarded(write: exp.Expr, select: exp.Select) -> bool:
    """Whether the write repeats a condition of the read on a column that it sets: for the second writer it no longer holds."""
    asked = {unqualified(part) for part in conjuncts(select.args.get("where"))}
    repeated = [part for part in conjuncts(write.args.get("where")) if unqualified(part) in asked]
    return not columns_set(write).isdisjoint(column.name.lower() for part in repeated for column in part.find_all(exp.Column))


def _is_serialized(read: Read) -> bool:
    """Whether a statement holds others off by other means than a lock on the job's row."""
    text = read.statement.sent.lower()
    locks_before = isinstance(read.root, exp.Select) and read.root.args.get("locks")
    return "advisory" in text or text.lstrip().startswith("lock") or bool(locks_before)


def _may_run_per_row(select: exp.Expr) -> bool:
    """Whether a sub-query is joined with the table that is written, or compared by IN or = ANY. A single value is not."""
    parent = user_of(select)
    if isinstance(parent, exp.From):
        return isinstance(parent.parent, exp.Update)
    return isinstance(parent, exp.In | exp.Any | exp.Delete | exp.Merge)
