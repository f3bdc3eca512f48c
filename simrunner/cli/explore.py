"""`simrunner explore`: many schedules of one workload, until one of them breaks a promise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from simrunner.cli.run import MAJORS, settings_of
from simrunner.cli.seconds import Seconds

STRATEGIES = ("pct", "random", "round-robin", "delay-bounded", "exhaustive")
ELSEWHERE = ("dsn", "jobs", "resume", "results", "as_json")
"""Options that say how a campaign is run, not which: they may differ when it is resumed."""


@click.command()
@click.argument("workload", required=False)
@click.option("--design", default="reference", show_default=True, help="The queue under test: a name or the path of its folder.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Of the campaign; each schedule has its own.")
@click.option("--strategy", type=click.Choice(STRATEGIES), default="pct", show_default=True, help="What produces the schedules.")
@click.option(
    "--depth", type=click.IntRange(1, 20), default=3, show_default=True, help="pct: look for bugs of depth 1 to this, in turn."
)
@click.option("--delays", type=click.IntRange(0, 100), default=2, show_default=True, help="delay-bounded: delays per schedule.")
@click.option("--kills", type=click.IntRange(0, 5), default=1, show_default=True, help="Kills in one schedule at most.")
@click.option(
    "--faults",
    metavar="KIND,...",
    default="kill",
    show_default=True,
    help="Kinds of faults: each that is no kill strikes once in every other schedule.",
)
@click.option("--recovery", is_flag=True, help="exhaustive: interleave the recoverer's steps too.")
@click.option("--recheck", is_flag=True, help="Run every schedule twice and fail at the first difference.")
@click.option("--schedules", type=click.IntRange(1), help="Budget: so many schedules at most.  [default: 200; exhaustive: 20000]")
@click.option("--seconds", type=Seconds(0, min_open=True), help="Budget: begin no schedule after so many seconds.")
@click.option("--steps", type=click.IntRange(1), help="Budget: begin no schedule after so many steps.")
@click.option("--stop-at-first", is_flag=True, help="Begin no schedule after the first violation.")
@click.option(
    "--jobs", type=click.IntRange(1, 16), default=1, show_default=True, help="Coordinators side by side, a server each."
)
@click.option("--resume", metavar="FOLDER", type=click.Path(path_type=Path), help="Go on with a campaign that was ended early.")
@click.option("--dsn", help="Use this PostgreSQL server instead of the embedded one.")
@click.option("--postgres", type=click.Choice(MAJORS), help="Major version of the embedded server.  [default: 18]")
@click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="Change one value of the workload; repeatable.")
@click.option(
    "--results", type=click.Path(file_okay=False, path_type=Path), default="results", show_default=True, help="Keep it here."
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.pass_context
def explore(context: click.Context, /, **options: Any) -> int:
    """Run many schedules of a workload against a design and judge each.

    WORKLOAD is a name or the path of a TOML file. The first schedule of each root cause is kept as a run folder, for `replay`
    and `analyze`. The histories of all are one Parquet dataset.

    With --resume everything is as it was when the campaign began; only --jobs, --dsn and --json may be given anew.
    """
    from simrunner.cli.campaigning import Place, begin, resume

    options["settings"] = settings_of(options["settings"])
    options["postgres"] = None if options["postgres"] is None else int(options["postgres"])
    options["faults"] = _kinds(options["faults"])
    if "kill" not in options["faults"]:
        options["kills"] = 0
    place = Place(options["dsn"], options["jobs"], options["results"], options["as_json"])
    _check(options)
    if options["resume"] is not None:
        given = [name for name in options if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
        return resume(options["resume"], {name: options[name] for name in given if name not in ELSEWHERE}, place)
    if options["workload"] is None:
        raise click.UsageError("Name a workload, or a campaign to go on with: --resume FOLDER.")
    return begin(_campaign(options), place)


def _kinds(text: str) -> tuple[str, ...]:
    from simrunner.config.hints import suggestion
    from simrunner.errors import InputError
    from simrunner.faults.registry import FAULTS

    named = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    for name in named:
        if name not in FAULTS:
            raise InputError(f"no fault {name!r}; {suggestion(name, FAULTS)}", place="--faults")
    return named


def _check(options: dict[str, Any]) -> None:
    from simrunner.errors import InputError
    from simrunner.search.request import OWN_SERVER_ALONE

    if options["dsn"] is not None and options["postgres"] is not None:
        raise click.UsageError("--postgres chooses the embedded server; with --dsn the server has its own version.")
    if options["dsn"] is not None and "server-crash" in options["faults"]:
        raise InputError(OWN_SERVER_ALONE, place="--faults")
    if options["dsn"] is not None and options["jobs"] > 1:
        raise click.UsageError("--jobs needs a server for each coordinator; with --dsn there is one.")
    if options["strategy"] == "exhaustive" and set(options["faults"]) - {"kill"}:
        raise click.UsageError("An exhaustive search knows no faults but kills.")
    if options["strategy"] == "exhaustive" and options["jobs"] > 1:
        raise click.UsageError("An exhaustive search is one depth-first path: leave --jobs at 1.")


def _campaign(options: dict[str, Any]) -> Any:
    from simrunner.search.campaign import EXHAUSTIVE, EXHAUSTIVE_SCHEDULES, SCHEDULES, Budget, Campaign

    usual = EXHAUSTIVE_SCHEDULES if options["strategy"] == EXHAUSTIVE else SCHEDULES
    budget = Budget(options["schedules"] or usual, options["seconds"], options["steps"], options["stop_at_first"])
    named = {name: options[name] for name in Campaign.__struct_fields__ if name in options}
    return Campaign(**{**named, "budget": budget, "postgres": options["postgres"] or int(MAJORS[0])})
