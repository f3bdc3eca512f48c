"""`simrunner shrink`: make a failing run as small as it can be, and show it as an interleaving."""

from __future__ import annotations

from pathlib import Path

import click

from simrunner.cli.seconds import Seconds


@click.command()
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
@click.option(
    "--seconds",
    type=Seconds(0, min_open=True),
    default=60.0,
    show_default=True,
    help="Try nothing more after so long; the next shrink of the run goes on from there.",
)
@click.option("--dsn", help="Use this PostgreSQL server instead of the embedded one.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def shrink(folder: Path, seconds: float, dsn: str | None, as_json: bool) -> int:
    """Make a run that violates something small.

    RUN is its folder. The root cause stays the same, and so do the kinds of events that witness it. Made few are, in this
    order: deviations from round-robin, faults, workers, jobs. The result is a run of its own in RUN/shrunk, to be analyzed,
    replayed and exported. Ends with 0 when it was made.
    """
    from simrunner.cli.shrinking import shrink_run

    made = shrink_run(folder, seconds, dsn, quiet=as_json)
    from simrunner.cli.shrunk import show_shrunk

    show_shrunk(made, as_json=as_json)
    return 0
