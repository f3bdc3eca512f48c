"""`simrunner doctor`: whether runs can be made here, and what a design's SQL tells without being run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from simrunner.cli.run import MAJORS
from simrunner.errors import DesignError, EnvironmentFailure

if TYPE_CHECKING:
    from simrunner.model.design import Design
    from simrunner.model.remark import Remark

_RESULTS = Path("results")
_WORKLOAD = "smoke"
"""Its fixture is what a design is tried with."""


@click.command()
@click.option("--design", help="Look at this design too: a name or the path of its folder.")
@click.option("--dsn", help="Use this PostgreSQL server instead of the embedded one.")
@click.option("--postgres", type=click.Choice(MAJORS), help="Major version of the embedded server.  [default: 18]")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def doctor(design: str | None, dsn: str | None, postgres: str | None, as_json: bool) -> int:
    """Find out whether runs can be made here, and what a design's SQL tells.

    Looks at the machine, starts the server and creates a database as a run would. Each remark says what it means and what to
    do. Ends with 2 if no run of the design can be made, with 4 if none can be made at all, else with 0.
    """
    from simrunner.cli.output import say_json, say_page
    from simrunner.cli.signals import interruptible
    from simrunner.config import load_workload
    from simrunner.report.examination import examination_document, examination_page
    from simrunner.review.registry import heaviest_first, review
    from simrunner.runtime.doctor.examination import examine

    if dsn is not None and postgres is not None:
        raise click.UsageError("--postgres chooses the embedded server; with --dsn the server has its own version.")
    loaded, about_design = _loaded(design)
    tried = None if loaded is None else (loaded, load_workload(_WORKLOAD))
    with interruptible():
        seen = examine(_RESULTS, dsn, int(postgres or MAJORS[0]), tried)
    about_design += seen.design + ([] if loaded is None else review(loaded))
    remarks = heaviest_first([*seen.environment, *about_design])
    if as_json:
        say_json(examination_document(seen.facts, remarks))
    else:
        say_page(examination_page(seen.facts, remarks))
    return _exit_code(seen.environment, about_design)


def _loaded(design: str | None) -> tuple[Design | None, list[Remark]]:
    """Return the design that was named, or the remark that says why it cannot be read."""
    from simrunner.config import load_design
    from simrunner.model.remark import Level, Remark

    if design is None:
        return None, []
    try:
        return load_design(design), []
    except DesignError as error:
        remedy = "mend it as the message says, or name another design"
        return None, [Remark(Level.ERROR, "design-unreadable", error.message, remedy, error.place)]


def _exit_code(environment: Sequence[Remark], design: Sequence[Remark]) -> int:
    from simrunner.model.remark import Level

    if any(remark.level is Level.ERROR for remark in environment):
        return EnvironmentFailure.exit_code
    return DesignError.exit_code if any(remark.level is Level.ERROR for remark in design) else 0
