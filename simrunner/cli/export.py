"""`simrunner export`: a run's root cause as a spec, a pytest file or psql commands, to be run without simrunner."""

from __future__ import annotations

from pathlib import Path

import click

from simrunner.errors import InputError

FORMS = ("spec", "pytest", "psql")


@click.command()
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--to", "form", type=click.Choice(FORMS), required=True, help="What to write.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file.  [default: standard output]")
def export(folder: Path, form: str, output: Path | None) -> int:
    """Write a violation for isolationtester, pytest or psql.

    RUN is the folder of a run that violates something, best a shrunk one. Its root cause is written as something that runs
    without simrunner: `spec` for PostgreSQL's isolationtester, `pytest` with psycopg alone, `psql` in a few terminals. The SQL is
    the design's.
    """
    from simrunner.cli.output import say
    from simrunner.search.export.forms import TEXTS
    from simrunner.search.export.script_of import script_of
    from simrunner.store.folder import RunFolder

    script = script_of(RunFolder.open(folder))
    text = TEXTS[form](script)
    if output is None:
        say(text.rstrip("\n"))
    else:
        _write(output, text)
    return 0


def _write(output: Path, text: str) -> None:
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", place=output) from error
