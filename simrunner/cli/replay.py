"""`simrunner replay`: repeat a stored run step by step and compare the two histories."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from simrunner.errors import Divergence, Interrupted, TapeError

if TYPE_CHECKING:
    from simrunner.cli.playing import Played
    from simrunner.runtime.cluster import Cluster
    from simrunner.store.folder import RunFolder
    from simrunner.store.tape import Tape


@click.command()
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--dsn", help="Use this PostgreSQL server instead of the embedded one.")
@click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    default="results",
    show_default=True,
    help="Keep the replay here.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.")
def replay(folder: Path, dsn: str | None, results: Path, as_json: bool) -> int:
    """Repeat a stored run step by step and compare the histories.

    RUN is the run's folder; the replay gets a new one. Ends as `simrunner run` does if the histories are equal, and with 3
    if they differ.
    """
    from simrunner.cli.playing import play_and_seal
    from simrunner.search.replay import read
    from simrunner.search.request import check_server
    from simrunner.store.folder import RUNNING, RunFolder

    original = RunFolder.open(folder)
    if original.status() == RUNNING:
        raise TapeError("is still running; wait for its end", place=folder)
    tape, request = read(original)
    check_server(request.workload, dsn)
    played = play_and_seal(
        request, server_of(tape, dsn), results, quiet=as_json, check=lambda cluster: check_major(tape, cluster)
    )
    if played.error is not None:
        raise _ended_early(original, tape, played) or played.error
    return _compared(original, tape, played.folder, as_json=as_json)


def server_of(tape: Tape, dsn: str | None) -> AbstractContextManager[Cluster]:
    """Return a server of the tape's major version for the time of a `with` block. Raises TapeError if there is none."""
    from simrunner.cli.run import MAJORS
    from simrunner.search.play import server_for

    major = tape.setup.postgres_major
    if dsn is None and str(major) not in MAJORS:
        raise TapeError(f"the run was made on PostgreSQL {major}, which is not embedded; name such a server with --dsn")
    return server_for(dsn, major)


def check_major(tape: Tape, cluster: Cluster) -> None:
    """Raise TapeError for a server of another major version than the tape's."""
    if cluster.major != tape.setup.postgres_major:
        raise TapeError(f"the run was made on PostgreSQL {tape.setup.postgres_major}, but --dsn is PostgreSQL {cluster.major}")


def _compared(original: RunFolder, tape: Tape, new: RunFolder, *, as_json: bool) -> int:
    """Compare the two histories and show the verdict. Raises Divergence if they differ."""
    from simrunner.cli.output import say
    from simrunner.cli.verdict import conclude
    from simrunner.search.replay import first_difference
    from simrunner.store.reader import read_history

    difference = first_difference(read_history(original).events, read_history(new).events)
    if difference is None:
        say(f"\nThe history equals that of {original.path.name}, event for event.\n", err=as_json)
    _, code = conclude(new, as_json=as_json, also={"replay_of": str(original.path), "equal": difference is None})
    if difference is not None:
        raise Divergence(_differs(difference.seq, difference.words, tape))
    return code


def _differs(seq: int, words: str, tape: Tape) -> str:
    from simrunner import __version__

    then = tape.setup.simrunner
    version = "" if then == __version__ else f" The run was made by simrunner {then}, this is {__version__}."
    return f"the replay's history differs from event {seq} on: {words}.{version}"


def _ended_early(original: RunFolder, tape: Tape, played: Played) -> Exception | None:
    """Return what a replay that followed a whole tape ends with, where the tape itself is of a run that was ended early."""
    from simrunner.search.replay import first_difference
    from simrunner.store.folder import COMPLETE
    from simrunner.store.reader import read_history
    from simrunner.store.tape import tape_of

    followed = len(tape_of(played.folder).decisions)
    if original.status() == COMPLETE or not isinstance(played.error, Divergence) or followed < len(tape.decisions):
        return None
    then, now = read_history(original).events, read_history(played.folder).events
    common = min(len(then), len(now))
    difference = first_difference(then[:common], now[:common])
    if difference is not None:
        return Divergence(_differs(difference.seq, difference.words, tape))
    ended = Interrupted(
        f"followed all {followed} decisions of the interrupted run: its history is equal up to event {common}, where it ends"
    )
    for note in getattr(played.error, "__notes__", ()):
        ended.add_note(note)
    return ended
