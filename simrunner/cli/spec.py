"""`simrunner spec`: run a PostgreSQL isolation spec and print what isolationtester prints."""

from __future__ import annotations

from pathlib import Path

import click

from simrunner.errors import EnvironmentFailure


@click.command()
@click.argument("file", metavar="FILE.spec", type=click.Path(path_type=Path))
@click.option("--dsn", help="Use this PostgreSQL server instead of the embedded one.")
@click.option("--postgres", type=click.Choice(("18", "16")), help="Major version of the embedded server.  [default: 18]")
def spec(file: Path, dsn: str | None, postgres: str | None) -> None:
    """Run a PostgreSQL isolation spec as isolationtester does.

    Compare the output with the expected one; the exit code says only whether all permutations were run.
    """
    from simrunner.cli.signals import interruptible
    from simrunner.runtime.isolation.run import run_spec
    from simrunner.search.play import server_for
    from simrunner.spec.plan import read_plan

    if dsn is not None and postgres is not None:
        raise click.UsageError("--postgres chooses the embedded server; with --dsn the server has its own version.")
    plan = read_plan(file)
    with interruptible(), server_for(dsn, int(postgres or 18)) as cluster:
        run_spec(plan, cluster, _write)


def _write(data: bytes) -> None:
    """Write output as it comes. Raises EnvironmentFailure if that is not possible."""
    try:
        click.echo(data, nl=False)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise EnvironmentFailure(f"the output cannot be written: {error.strerror}") from error
