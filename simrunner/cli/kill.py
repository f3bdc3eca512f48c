"""`simrunner kill`: kill a worker of a run under way, as a crash would."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("worker")
@click.option(
    "--run",
    "folder",
    metavar="RUN",
    type=click.Path(path_type=Path),
    default="results/latest",
    show_default=True,
    help="The folder of the run that is going on.",
)
def kill(worker: str, folder: Path) -> int:
    """Kill a worker of a run that is going on.

    WORKER is an actor such as worker-a or recoverer. It gets SIGKILL; the run records an unplanned crash and goes on.
    """
    from simrunner.cli.output import say
    from simrunner.runtime.live import kill_actor
    from simrunner.store.folder import RunFolder

    opened = RunFolder.open(folder)
    pid = kill_actor(opened, worker)
    say(f"killed {worker}, process {pid}, of {opened.path.name}")
    return 0
