"""What becomes of a job whose owner died."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from simrunner.model.design import Ownership
from simrunner.model.operations import is_offered
from simrunner.model.remark import Level, Remark
from simrunner.review.reading import Reading, targets


def missing(reading: Reading) -> Iterator[Remark]:
    """A committed claim outlives its worker: somebody must make it eligible again, a recovery or the claim itself."""
    design = reading.design
    if design.ownership is Ownership.LOCK or is_offered("recover", design.operations) or _claims_lapsed(reading):
        return
    yield Remark(
        Level.WARNING,
        "no-recovery",
        "the design offers no recovery, and its claim does not look at the lease: a job whose worker dies after the claim's"
        " COMMIT stays claimed for ever",
        "add recover.sql, which makes claims with a lapsed lease ready again",
        reading.toml,
    )


def deletes(reading: Reading) -> Iterator[Remark]:
    """A lapsed claim is no completion."""
    for read in reading.of("recover", "recover-batch", "recover-write"):
        for write in targets(read, exp.Delete):
            yield Remark(
                Level.WARNING,
                "recovery-deletes",
                "the recovery deletes jobs: one whose worker died is gone as if it had been done",
                "make it ready again, or failed once its attempts are used up",
                read.place(write),
            )


def _claims_lapsed(reading: Reading) -> bool:
    claim = reading.design.operations["claim"]
    lease = claim.results.get("lease_until")
    conditions = [where for read in reading.of("claim") for where in read.all(exp.Where)]
    return lease is not None and any(column.name == lease for where in conditions for column in where.find_all(exp.Column))
