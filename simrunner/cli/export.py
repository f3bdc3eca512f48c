"""`simrunner export`: a run's root cause as a spec, a pytest file or psql commands, to be run without simrunner."""

from __future__ import annotations

from pathlib import Path

import click

FORMS = ("spec", "pytest", "psql")


@click.command()
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--to", "form", type=click.Choice(FORMS), required=True, help="What to write.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file.  [default: standard output]")
def export(folder: Path, form: str, output: Path | None) -> int:
    """Write the root cause of a run as something that runs without simrunner.

    RUN is the folder of a run that violates something, best a shrunk one. `spec` is for PostgreSQL's isolationtester, `pytest`
    needs psycopg alone, `psql` is for a few terminals. The SQL is that of the design.
    """
    from simrunner.cli.output import say
    from simrunner.search.export.psql import psql_text
    from simrunner.search.export.pytest_file import pytest_text
    from simrunner.search.export.script_of import script_of
    from simrunner.search.export.spec import spec_text
    from simrunner.store import files
    from simrunner.store.folder import RunFolder

    script = script_of(RunFolder.open(folder))
    text = {"spec": spec_text, "pytest": pytest_text, "psql": psql_text}[form](script)
    if output is None:
        say(text.rstrip("\n"))
    else:
        files.write_bytes(output, text.encode())
    return 0
