"""`make bench`: how fast schedules are run, beside isolationtester, in one run on one server.

Every figure is taken several times, in turns with the others, and the median counts: the machine may be busy with something else
meanwhile, but then with all of them. Written as JSON and as a table.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from statistics import median
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from simrunner import __version__
from simrunner.runtime.isolation.database import plain_database
from simrunner.runtime.isolation.run import run_spec
from simrunner.search.play import server_for
from simrunner.spec.plan import plan_of
from tests.bench import isolation, schedules
from tests.bench.clock import timed

PEER, PEER_WAITS = "isolationtester: SKIP LOCKED", "isolationtester: one waits"
OWN_SPEC, LOCKS, CLAIMS = "simrunner spec: SKIP LOCKED", "schedules: SKIP LOCKED", "schedules: claim, complete, COMMIT"
WAITS, KILLS, KILLS_2 = "schedules: one waits", "schedules: one SIGKILL each", "schedules: one SIGKILL each, 2 coordinators"
BLOCKED = "a blocked step, from sending until it is known, ms"
RATIOS = ((LOCKS, PEER, 4.0), (CLAIMS, PEER, 2.0), (OWN_SPEC, PEER, None), (WAITS, PEER_WAITS, None))
"""(what, compared to what, the ratio that it should have)."""
GOALS = ((KILLS, 100.0), (KILLS_2, 150.0))


@click.command()
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True, help="Take every figure so often.")
@click.option("--times", type=click.IntRange(1), default=10, show_default=True, help="All interleavings so many times over.")
@click.option("--json", "path", type=click.Path(path_type=Path), default="results/bench.json", show_default=True)
def main(rounds: int, times: int, path: Path) -> None:
    """Measure and print."""
    figures = measure(rounds, times)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    _print(figures, path)


def measure(rounds: int, times: int) -> dict[str, Any]:
    """Return all figures by name, with how they were taken."""
    taken: dict[str, list[float]] = {}
    with server_for(None, 18) as cluster, plain_database(cluster) as database:
        program = isolation.find(cluster.major)
        for _ in range(rounds):
            if program is not None:
                _add(taken, PEER, isolation.rate(program, cluster, database, isolation.spec(isolation.SKIP, times)))
                _add(taken, PEER_WAITS, isolation.rate(program, cluster, database, isolation.spec(isolation.WAIT, times)))
            plan = plan_of(isolation.spec(isolation.SKIP, times), "bench.spec", "bench")
            _add(taken, OWN_SPEC, 20 * times / timed(lambda plan=plan: run_spec(plan, cluster, lambda data: None)))  # type: ignore[misc]
            _add(taken, LOCKS, schedules.interleavings(cluster, "lock-twice", times).per_second)
            _add(taken, CLAIMS, schedules.interleavings(cluster, "claim-and-complete", times).per_second)
            waits = schedules.interleavings(cluster, "lock-and-wait", times)
            _add(taken, WAITS, waits.per_second)
            _add(taken, BLOCKED, median(waits.blocked_us) / 1000)
            _add(taken, KILLS, schedules.with_a_kill(cluster, 20 * times).per_second)
    for _ in range(rounds):
        _add(taken, KILLS_2, schedules.with_a_kill_side_by_side(2, 20 * times, 18))
    medians = {name: median(values) for name, values in taken.items()}
    return {
        "simrunner": __version__,
        "postgres": cluster.version_text,
        "processors": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],
        "rounds": rounds,
        "isolationtester": None if program is None else str(program),
        "taken": taken,
        "medians": medians,
        "ratios": {f"{what} / {peer}": medians[what] / medians[peer] for what, peer, _ in RATIOS if peer in medians},
    }


def _add(taken: dict[str, list[float]], name: str, value: float) -> None:
    taken.setdefault(name, []).append(value)


def _print(figures: dict[str, Any], path: Path) -> None:
    goals: dict[str, float] = dict(GOALS)
    table = Table(title=f"a second, median of {figures['rounds']} (least, most)")
    for column in ("what", "figure", "least", "most", "goal"):
        table.add_column(column, justify="left" if column == "what" else "right")
    for name, values in figures["taken"].items():
        goal = "at most 2.0" if name == BLOCKED else f"{goals[name]:.0f}" if name in goals else ""
        table.add_row(name, *(f"{value:.1f}" for value in (median(values), min(values), max(values))), goal)
    for what, peer, goal_ratio in RATIOS:
        if peer in figures["medians"]:
            ratio = figures["ratios"][f"{what} / {peer}"]
            table.add_row(f"{what} / {peer}", f"{ratio:.2f}", "", "", "" if goal_ratio is None else f"{goal_ratio:.1f}")
    console = Console(width=120)
    console.print(table)
    if figures["isolationtester"] is None:
        console.print("isolationtester is not installed (Debian: postgresql-server-dev-15): nothing is compared to it.")
    console.print(f"{figures['postgres']}; {figures['processors']} processors, load {figures['load']:.1f}; written to {path}")


if __name__ == "__main__":
    main()
