"""The command line. This file only assembles the group: each command has its own."""

from __future__ import annotations

import click

from simrunner import __version__
from simrunner.cli.accept import accept
from simrunner.cli.analyze import analyze
from simrunner.cli.doctor import doctor
from simrunner.cli.endings import Commands
from simrunner.cli.explore import explore
from simrunner.cli.export import export
from simrunner.cli.kill import kill
from simrunner.cli.listing import list_
from simrunner.cli.replay import replay
from simrunner.cli.run import run
from simrunner.cli.show import show
from simrunner.cli.shrink import shrink
from simrunner.cli.spec import spec


@click.group("simrunner", cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="simrunner")
def main() -> None:
    """Find out whether a PostgreSQL job queue keeps its promises when workers compete for rows and some of them die.

    Exit codes: 0 valid; 1 violated; 2 bad input; 3 unknown or not exercised; 4 the machine, the server or the database failed;
    70 a bug in simrunner.
    """


for command in (run, accept, analyze, replay, explore, kill, list_, show, shrink, export, spec, doctor):
    main.add_command(command)
