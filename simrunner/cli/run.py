"""`simrunner run`: play a workload against a design and judge what happened."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from simrunner.cli.seconds import Seconds
from simrunner.errors import WorkloadError

MAJORS = ("18", "16")


@click.command()
@click.argument("workload")
@click.option("--design", default="reference", show_default=True, help="The queue under test: a name or the path of its folder.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Fixes every choice of the run.")
@click.option(
    "--mode",
    type=click.Choice(["stepped", "rounds"]),
    default="stepped",
    show_default=True,
    help="One step at a time and repeatable, or all claims of a round at once: a real race.",
)
@click.option("--strategy", help="Who takes the next step; see `simrunner list strategies`.  [default: the workload's]")
@click.option("--dsn", help="Use this PostgreSQL server instead of the embedded one.")
@click.option("--postgres", type=click.Choice(MAJORS), help="Major version of the embedded server.  [default: 18]")
@click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="Change one value of the workload; repeatable.")
@click.option(
    "--results", type=click.Path(file_okay=False, path_type=Path), default="results", show_default=True, help="Keep runs here."
)
@click.option("--pace", type=Seconds(0, 3600), default=0.0, metavar="SECONDS", help="Wait so long before each step.")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.")
def run(  # noqa: PLR0917 - click passes them by name
    workload: str,
    design: str,
    seed: int,
    mode: str,
    strategy: str | None,
    dsn: str | None,
    postgres: str | None,
    settings: tuple[str, ...],
    results: Path,
    pace: float,
    as_json: bool,
) -> int:
    """Run a workload against a design and judge what happened.

    WORKLOAD is a name or the path of a TOML file.
    """
    from simrunner.cli.output import say
    from simrunner.cli.playing import play_and_seal
    from simrunner.search.play import server_for
    from simrunner.search.request import check_server, prepare

    if dsn is not None and postgres is not None:
        raise click.UsageError("--postgres chooses the embedded server; with --dsn the server has its own version.")
    request = prepare(workload, design, settings_of(settings), seed=seed, mode=mode, strategy=strategy)
    check_server(request.workload, dsn)
    server = server_for(dsn, int(postgres or MAJORS[0]))
    played = play_and_seal(request, server, results, pace_seconds=pace, quiet=as_json)
    if played.error is not None:
        raise played.error
    from simrunner.cli.verdict import conclude

    say("", err=as_json)
    return conclude(played.folder, as_json=as_json)[1]


def settings_of(words: Iterable[str]) -> dict[str, str]:
    """Return `key=value` words as a mapping. Raises WorkloadError for a word of another form and a key given twice."""
    settings: dict[str, str] = {}
    for word in words:
        key, sign, value = word.partition("=")
        if not sign or not key.strip():
            raise WorkloadError(f"--set {word}: expected KEY=VALUE, such as --set safety.rounds=20")
        if key.strip() in settings:
            raise WorkloadError(f"--set {word}: {key.strip()} is set twice")
        if not word.isprintable():  # among others bytes that are not UTF-8
            raise WorkloadError(f"--set {word}: holds a character that cannot be shown")
        settings[key.strip()] = value.strip()
    return settings
