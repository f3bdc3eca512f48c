"""What `run` and `replay` share: a server, a run, its sealed folder, and what is said meanwhile.

Loads no numpy, pandas or pyarrow at the top: actors are forked while a run is played, and threads do not survive a fork.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from simrunner.analysis.facts import Server, facts_from, replay_line, shown_path
from simrunner.cli.output import say_page
from simrunner.cli.signals import interruptible
from simrunner.cli.watching import watching
from simrunner.errors import SimrunnerError
from simrunner.report.opening import opening_page
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.coordinator import Request
from simrunner.search.play import begin, play
from simrunner.store.folder import RunFolder
from simrunner.store.tape import tape_of


@dataclass(frozen=True, slots=True)
class Played:
    """A run that came to an end, and what ended it early."""

    folder: RunFolder
    error: SimrunnerError | None


def play_and_seal(
    request: Request,
    server: AbstractContextManager[Cluster],
    results: Path,
    *,
    pace_seconds: float = 0.0,
    quiet: bool,
    check: Callable[[Cluster], None] = lambda cluster: None,
) -> Played:
    """Play a run to its end, early or not, and seal its folder. `quiet`: standard output is left to the verdict.

    `check` may refuse the server before anything is recorded. Raises what kept the run from beginning.
    """
    folder: RunFolder | None = None
    ended_by: SimrunnerError | None = None
    with interruptible():
        try:
            with server as cluster:
                check(cluster)
                folder = begin(request, cluster, results, datetime.now(UTC))
                say_page(opening_page(request, Server(cluster.major, cluster.version_text).number, folder.path), err=quiet)
                with watching(pace_seconds, err=quiet) as watcher:
                    play(request, folder, cluster, watcher)
        except SimrunnerError as error:
            if folder is None:
                raise
            ended_by = error
        with folder:
            if ended_by is None:
                _seal(folder)
            else:
                _keep(folder, ended_by)
    return Played(folder, ended_by)


def _seal(folder: RunFolder) -> None:
    """Seal the folder of a run that came to its end. Raises SimrunnerError, which says that the run is whole all the same."""
    from simrunner.store.seal import seal

    try:
        seal(folder)
    except SimrunnerError as error:
        error.add_note(f"The run itself had come to its end. To judge it: simrunner analyze {shown_path(folder.path)}")
        raise


def _keep(folder: RunFolder, error: SimrunnerError) -> None:
    """Seal the folder of a run that ended early, and say in the error what of it is kept."""
    from simrunner.store.seal import seal

    with suppress(SimrunnerError):  # then the journal stays, which says the same
        seal(folder)
    with suppress(SimrunnerError):
        tape_of(folder)
        path, facts = shown_path(folder.path), facts_from(folder.run(), folder.path)
        error.add_note(f"What happened until then is kept in {path}")
        error.add_note(f"simrunner analyze {path}")
        error.add_note(replay_line(folder.path, facts))
