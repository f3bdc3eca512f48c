"""`simrunner accept`: every experiment of the acceptance, one evidence package, one decision."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from simrunner.cli.run import MAJORS

if TYPE_CHECKING:
    from simrunner.report.acceptance.plan import Planned
    from simrunner.runtime.cluster import Cluster


@click.command()
@click.option("--design", default="reference", show_default=True, help="The queue under test: a name or the path of its folder.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Fixes every choice of the stepped runs.")
@click.option("--dsn", help="Use this PostgreSQL server instead of the embedded one.")
@click.option("--postgres", type=click.Choice(MAJORS), help="Major version of the embedded server.  [default: 18]")
@click.option(
    "--results", type=click.Path(file_okay=False, path_type=Path), default="results", show_default=True, help="Keep runs here."
)
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.")
def accept(  # noqa: PLR0917 - click passes them by name
    design: str, seed: int, dsn: str | None, postgres: str | None, results: Path, as_json: bool
) -> int:
    """Run every experiment of the acceptance and decide.

    Ends with 0 if the design is ACCEPTED, 1 if it is REJECTED, 3 if it is INCONCLUSIVE.
    """
    from simrunner.report.acceptance.plan import plan
    from simrunner.report.acceptance.playbook import PLAYBOOK
    from simrunner.search.play import server_for

    if dsn is not None and postgres is not None:
        raise click.UsageError("--postgres chooses the embedded server; with --dsn the server has its own version.")
    planned = plan(design, seed, PLAYBOOK)
    return accepted(planned, server_for(dsn, int(postgres or MAJORS[0])), results, as_json=as_json)


def accepted(planned: Sequence[Planned], server: AbstractContextManager[Cluster], results: Path, *, as_json: bool) -> int:
    """Play the planned runs, write the evidence, show the decision and return the exit code that it means."""
    from simrunner.analysis.facts import shown_path
    from simrunner.cli.accepting import play_all
    from simrunner.cli.signals import interruptible
    from simrunner.errors import SimrunnerError

    with interruptible(), play_all(planned, server, results, quiet=as_json) as folder:
        from simrunner.cli.deciding import conclude, write

        try:
            acceptance = write(folder, planned[0].request.design)
        except SimrunnerError as error:
            error.add_note(f"All runs had come to their end. To decide from them: simrunner analyze {shown_path(folder.path)}")
            raise
        return conclude(folder, acceptance, (), as_json=as_json)
