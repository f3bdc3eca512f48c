"""Carries a shrink out: one server, one database for all tries, and at the end the smallest case as a run folder of its own.

Loads no numpy, pandas or pyarrow: actors are forked for every try.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import msgspec

from simrunner.cli.output import terminal
from simrunner.cli.replay import check_major, server_of
from simrunner.cli.signals import interruptible
from simrunner.errors import Interrupted, RunFolderError, TapeError
from simrunner.model.tape import UNPLANNED
from simrunner.model.verdict import Verdict
from simrunner.runtime import database
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.coordinator import Watcher
from simrunner.runtime.performance import Request
from simrunner.search.play import begin_part, play
from simrunner.search.replay import read
from simrunner.search.shrinking.case import Case
from simrunner.search.shrinking.shrink import Shrunk, Told, shrink
from simrunner.search.shrinking.trials import Trials
from simrunner.search.shrinking.tried import Tried
from simrunner.store import files
from simrunner.store.folder import COMPLETE, RunFolder

SHRUNK = "shrunk"
"""The folder of the shrunk run, in that of the original one."""
SHRUNK_FROM = "shrunk"
"""Key of run.json: what was made smaller, and how."""
VERDICT_JSON = "verdict.json"


@dataclass(frozen=True, slots=True)
class Made:
    """A shrunk run that was written."""

    shrunk: Shrunk
    folder: RunFolder


def shrink_run(path: Path, seconds: float, dsn: str | None, *, quiet: bool) -> Made:
    """Shrink the run of a folder. Raises RunFolderError and TapeError for a run that cannot be shrunk; see search.shrink too."""
    original = RunFolder.open(path)
    sha256 = _check(original, path)
    tape, request = read(original)
    if any(decision.label == UNPLANNED for decision in tape.decisions):
        raise TapeError("an actor died in this run without a decision, killed from outside: it cannot be shrunk", place=path)
    with interruptible(), server_of(tape, dsn) as cluster:
        check_major(tape, cluster)
        try:
            tried = Tried(original.path, f"{request.design.sha256} {request.workload.sha256} {sha256} {cluster.major}")
            with _progress(quiet=quiet) as told:
                bounded = partial(shrink, request, tried=tried, seconds=seconds, told=told, sha256=sha256)
                shrunk, smallest = _search(request, str(Path(request.workload.path).resolve()), cluster, bounded)
            folder = _write(original, smallest, shrunk, cluster)
        except Interrupted as error:
            error.add_note("What was tried is kept: the same command goes on from there")
            raise
    from simrunner.store.seal import seal

    seal(folder)
    return Made(shrunk, folder)


def _check(original: RunFolder, path: Path) -> str | None:
    """Refuse what cannot be shrunk before a server is started. Returns the SHA-256 of the history, where it is known."""
    status = original.status()
    if status != COMPLETE:
        raise RunFolderError(f"is {status}: only a run that reached its end can be shrunk", place=path)
    if not (original.path / VERDICT_JSON).exists():
        return None
    judged: _Judged = files.read_json(original.path / VERDICT_JSON, _Judged)
    if judged.mode == "stepped" and judged.verdict is not Verdict.VIOLATED:
        raise RunFolderError(f"is {judged.verdict}: there is no violation to shrink", place=path)
    return judged.history_sha256


class _Judged(msgspec.Struct):
    """Of verdict.json: what a shrink asks for."""

    mode: str
    verdict: Verdict
    history_sha256: str


def _search(request: Request, workload: str, cluster: Cluster, search: Callable[[Trials], Shrunk]) -> tuple[Shrunk, Request]:
    """Search in a database for all tries. Returns the smallest case, and the request that follows its tape."""
    with database.create(cluster, "shrink") as own, closing(Trials(request, workload, own)) as trials:
        shrunk = search(trials)
        return shrunk, trials.request(shrunk.case, shrunk.decisions)


def _write(original: RunFolder, request: Request, shrunk: Shrunk, cluster: Cluster) -> RunFolder:
    """Run the smallest case once more, in a new database, and leave it as a run folder. Replaces that of an earlier shrink."""
    place = original.path / SHRUNK
    with files.recording(place):
        shutil.rmtree(place, ignore_errors=True)
    with begin_part(request, cluster, place, datetime.now(UTC)) as folder:
        folder.update_run(**{SHRUNK_FROM: _about(original, shrunk)})
        play(request, folder, cluster, Watcher(lambda actors: None, lambda phase, number, most: None, lambda: None))
    return folder


def _about(original: RunFolder, shrunk: Shrunk) -> dict[str, object]:
    return {
        "from": original.path.name,
        "invariant": shrunk.failure.invariant,
        "deviations": [deviation._asdict() for deviation in shrunk.case.deviations],
        "tried": shrunk.tried,
        "finished": shrunk.is_finished,
    }


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Told]:
    """A line that is overwritten on a terminal; nothing in a pipe."""
    if quiet or not sys.stdout.isatty():
        yield lambda tried, best: None
        return
    console = terminal()

    def told(tried: int, best: Case) -> None:
        orders, kills, workers, jobs = len(best.orders), len(best.faults), best.size.workers, best.size.all_jobs
        words = f"tried {tried}: {orders} deviations, {kills} faults, {workers} workers, {jobs} jobs"
        console.print(f"\r{words:<78}", end="")

    try:
        yield told
    finally:
        console.print(f"\r{'':<78}\r", end="")
