"""What could not be reviewed, so that silence is not taken for praise."""

from __future__ import annotations

from collections.abc import Iterator

from simrunner.model.operations import OPERATIONS
from simrunner.model.remark import Level, Remark
from simrunner.review.reading import Reading

_REMEDY = "nothing need be done: the server checks it, and runs judge what it does"


def unread(reading: Reading) -> Iterator[Remark]:
    """Statements of actors that sqlglot cannot read, and a claim that shows no choice of jobs, such as a function call."""
    for name, reads in reading.statements.items():
        for read in reads:
            if read.root is None and not OPERATIONS[name].fixture:
                message = f"a statement of {name}.sql cannot be read here and was not reviewed"
                yield Remark(Level.HINT, "not-reviewed", message, _REMEDY, read.place())
    claim = reading.of("claim")
    if all(read.root is not None for read in claim) and not any(reading.candidates(read) for read in claim):
        message = "claim.sql shows no SELECT that chooses among the jobs (is it in a function?), so its form was not reviewed"
        yield Remark(Level.HINT, "not-reviewed", message, _REMEDY, claim[0].place())
