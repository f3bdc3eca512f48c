"""Kills commands and servers so often, and says in a table what was left, wrong or lost."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import count, cycle

from tests.torture.kills import Kill, Tally
from tests.torture.lab import Lab, a_lab
from tests.torture.subjects import undisturbed

COLUMNS = ("kills", "folders", "opened", "cleared by the next", "leftovers", "wrong verdicts", "lost events")
MIX = ("stepped", "explore", "stepped", "rounds")


def torture(lab: Lab, coordinator: int, server: int, seed: int, told: Callable[[str], None]) -> dict[str, Tally]:
    """Kill commands so often, and servers so often. Returns what was seen, by what was killed."""
    subjects = undisturbed(lab)
    tallies = {"coordinator": Tally(), "server": Tally()}
    for what, wanted in (("coordinator", coordinator), ("server", server)):
        tally = tallies[what]
        for number, kind in zip(count(), cycle(MIX)):
            if tally.kills == wanted:
                break
            one = Kill(lab, subjects[kind], f"{seed}/{what}/{number}")
            before = len(tally.troubles)
            (one.strike_coordinator if what == "coordinator" else one.strike_server)(tally)
            for words in tally.troubles[before:]:
                told(words)
            told(f"{what} {tally.kills} of {wanted}")
    return tallies


def table(tallies: dict[str, Tally]) -> str:
    """Return the figures as text."""
    lines = [f"{'killed':<12}" + "".join(f"{name:>{len(name) + 3}}" for name in COLUMNS)]
    for what, one in tallies.items():
        figures = (one.kills, one.folders, one.opened, one.cleared, one.leftovers, one.wrong, one.lost)
        lines.append(f"{what:<12}" + "".join(f"{value:>{len(name) + 3}}" for value, name in zip(figures, COLUMNS, strict=True)))
    return "\n".join(lines)


def main() -> int:
    """Torture as the command line says. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--coordinator", type=int, default=200, help="how often commands are killed")
    parser.add_argument("--server", type=int, default=50, help="how often their server is killed")
    parser.add_argument("--seed", type=int, default=1, help="fixes what is killed when")
    given = parser.parse_args()
    with a_lab(warm=True) as lab:
        tallies = torture(lab, given.coordinator, given.server, given.seed, lambda words: print(words, flush=True))  # noqa: T201
    print(table(tallies))  # noqa: T201
    return 0 if all(tally.is_clean for tally in tallies.values()) else 1
