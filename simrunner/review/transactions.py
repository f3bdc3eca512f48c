"""What the transactions around the operations mean."""

from __future__ import annotations

from collections.abc import Iterator

from simrunner.model.design import Ownership
from simrunner.model.remark import Level, Remark
from simrunner.review.reading import Reading


def isolation(reading: Reading) -> Iterator[Remark]:
    """Above READ COMMITTED a claim may fail with 40001, SKIP LOCKED or not.

    https://www.postgresql.org/docs/18/transaction-iso.html#XACT-REPEATABLE-READ
    """
    if reading.design.isolation != "read committed":
        yield Remark(
            Level.WARNING,
            "claims-may-fail",
            f"at {reading.design.isolation.upper()} a claim fails (SQLSTATE 40001) when another one committed after its snapshot,"
            " SKIP LOCKED or not",
            "claim at READ COMMITTED, or let every client try again",
            reading.toml,
        )


def work_inside(reading: Reading) -> Iterator[Remark]:
    """A transaction that is open while the work is done keeps the row locked and VACUUM from removing dead rows."""
    if reading.design.work_in_claim_transaction and reading.design.ownership is not Ownership.LOCK:
        yield Remark(
            Level.WARNING,
            "work-in-claim-transaction",
            "the claim's transaction stays open while the work is done: the claim is invisible and the row locked all the while,"
            " and dead rows pile up",
            "commit the claim before the work begins; the lease tells others whose job it is",
            reading.toml,
        )
