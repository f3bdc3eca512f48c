"""`make hostile`: 2,000 spoilt inputs of each kind, a table, and what should not have happened.

`python -m tests.hostile [INPUTS [KIND ...]]` tries others. Everything follows from the inputs' numbers: a failure comes back.
"""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from time import perf_counter

from hypothesis import HealthCheck, Phase, given, settings

from simrunner.runtime import server
from tests.hostile.attempts import attempts
from tests.hostile.kinds import CLUSTER, KINDS, Kind
from tests.hostile.seeds import Seeds
from tests.hostile.trying import Attempt, Hung, refusal

INPUTS, PLAYED_SHARE = 2000, 10
"""Inputs of a kind; of those that are played on a server one in so many."""


def main(*words: str) -> int:
    """Print a line for each kind, then the failures with an input that shows each. Returns 1 if there are any."""
    inputs = int(words[0]) if words else INPUTS
    failures: dict[str, list[str]] = {}
    print(f"{'kind':<16}{'inputs':>8}{'accepted':>10}{'refused':>9}{'failed':>8}{'slowest ms':>12}", flush=True)  # noqa: T201
    with tempfile.TemporaryDirectory(prefix="hostile-") as home, server.embedded() as cluster:
        CLUSTER.append(cluster)
        seeds = Seeds(Path(home))
        for kind in KINDS:
            if not words[1:] or kind.name in words[1:]:
                number = max(1, inputs // PLAYED_SHARE) if kind.played else inputs
                print(_tried(kind, seeds, number, failures), flush=True)  # noqa: T201
    for what, which in failures.items():
        print(f"\n{len(which)} times {what}\n  such as {which[0]}")  # noqa: T201
    return 1 if failures else 0


def _tried(kind: Kind, seeds: Seeds, number: int, failures: dict[str, list[str]]) -> str:
    """Try so many inputs of a kind. Returns its line of the table."""
    counts: Counter[str] = Counter()
    slowest = 0.0
    inputs = kind.inputs(seeds)
    scratch = seeds.home / "scratch"
    scratch.mkdir(exist_ok=True)
    os.chdir(scratch)

    @settings(
        max_examples=number,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(attempts(kind, inputs))
    def each(attempt: Attempt) -> None:
        nonlocal slowest
        begin = perf_counter()
        try:
            counts["accepted" if refusal(kind, attempt, scratch) is None else "refused"] += 1
        except (Exception, Hung) as error:
            counts["failed"] += 1
            failures.setdefault(_signature(kind, error), []).append(str(attempt))
        slowest = max(slowest, perf_counter() - begin)

    each()
    figures = f"{counts.total():>8,}{counts['accepted']:>10,}{counts['refused']:>9,}{counts['failed']:>8,}"
    return f"{kind.name:<16}{figures}{slowest * 1000:>12,.0f}"


def _signature(kind: Kind, error: BaseException) -> str:
    """What failures of one cause have in common: the error and where it comes from."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "site-packages" not in frame.filename]
    where = ", called at ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames[:-4:-1])
    return f"{kind.name}: {type(error).__name__} at {where}: {str(error)[:300]}"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
