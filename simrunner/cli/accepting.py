"""Playing an acceptance: every planned run on one server, each in a database of its own.

Loads no numpy, pandas or pyarrow: actors are forked for every run, so nothing is sealed or judged before the last one ended.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from simrunner import __version__
from simrunner.analysis.facts import shown_path
from simrunner.cli.output import terminal
from simrunner.errors import EnvironmentFailure, Interrupted, RecordingFailed, SimrunnerError
from simrunner.report.acceptance.plan import EXPERIMENTS, Planned, parts_document
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.coordinator import Watcher
from simrunner.runtime.shortage import tells_of
from simrunner.search.play import begin_part, play
from simrunner.store.folder import COMPLETE, FAILED, INTERRUPTED, RUN_JSON, RunFolder

ACCEPT = "accept"

Progressed = Callable[[int, str], None]
"""Told the number of runs that have ended and the name of the next."""


def play_all(planned: Sequence[Planned], server: AbstractContextManager[Cluster], results: Path, *, quiet: bool) -> RunFolder:
    """Play every run and return the acceptance's folder, still locked.

    A run that the machine or the server fails is left as failed and the others go on, but for a full disk below the server, on
    which none can. Raises Interrupted, what kept the server from starting, and DesignError for SQL that the server refuses.
    """
    request = planned[0].request
    folder: RunFolder | None = None
    try:
        with server as cluster:
            now, facts = datetime.now(UTC), _facts(planned, cluster)
            folder = RunFolder.create(results, ACCEPT, request.design.name, request.seed, now, records=False, facts=facts)
            with _progress(len(planned), quiet=quiet) as progressed:
                _play_each(planned, folder, cluster, progressed)
        folder.update_run(status=COMPLETE)
    except BaseException as error:
        if folder is not None:
            _keep(folder, error)
            folder.close()
        raise
    return folder


def _keep(folder: RunFolder, error: BaseException) -> None:
    """Note how an acceptance was ended early, and say in the error what of it is kept."""
    with suppress(RecordingFailed):  # the first failure is the one to tell
        folder.update_run(status=INTERRUPTED if isinstance(error, Interrupted | KeyboardInterrupt) else FAILED)
    if isinstance(error, SimrunnerError) and (folder.path / RUN_JSON).exists():
        error.add_note(f"What happened until then is kept in {shown_path(folder.path)}")
        error.add_note(f"simrunner analyze {shown_path(folder.path)}")


def _facts(planned: Sequence[Planned], cluster: Cluster) -> dict[str, object]:
    design = planned[0].request.design
    return {
        "simrunner": __version__,
        "design_sha256": design.sha256,
        "superuser": cluster.superuser,
        "embedded": cluster.embedded,
        "postgres": {"major": cluster.major, "version": cluster.version_text},
        "paths": {"design": design.folder},
        "promises": sorted(design.promises.invariants),
        "offers": sorted(design.operations),
        "parts": parts_document(planned),
    }


def _play_each(planned: Sequence[Planned], folder: RunFolder, cluster: Cluster, progressed: Progressed) -> None:
    for number, one in enumerate(planned):
        progressed(number, one.part.name)
        if not one.part.missing:
            _play(one, folder.path / EXPERIMENTS / one.part.name, cluster)


def _play(one: Planned, path: Path, cluster: Cluster) -> None:
    with begin_part(one.request, cluster, path, datetime.now(UTC)) as run:
        try:
            play(one.request, run, cluster, Watcher(lambda actors: None, lambda phase, number, most: None, lambda: None))
        except EnvironmentFailure as error:
            with suppress(RecordingFailed):  # the folder is full or gone, and the next run will say so
                run.update_run(status=FAILED, error=str(error))
            if tells_of(error):
                raise


@contextmanager
def _progress(runs: int, *, quiet: bool) -> Iterator[Progressed]:
    """A progress bar on a terminal, drawn when it is told to: a thread of its own would not survive the forks."""
    if quiet or not sys.stdout.isatty():
        yield lambda number, name: None
        return
    columns = (TextColumn("{task.description:<32}"), BarColumn(), MofNCompleteColumn(), TextColumn("runs"))
    with Progress(*columns, console=terminal(), auto_refresh=False, transient=True, redirect_stdout=False) as progress:
        task = progress.add_task("", total=runs)

        def progressed(number: int, name: str) -> None:
            progress.update(task, description=name, completed=number)
            progress.refresh()

        yield progressed
