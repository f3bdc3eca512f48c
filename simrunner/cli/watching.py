"""What a user sees while a run goes on: process ids whenever actors are started, and on a terminal a progress bar."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import sleep

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from simrunner.cli.output import say, terminal
from simrunner.runtime.coordinator import Watcher


@contextmanager
def watching(pace_seconds: float, *, err: bool) -> Iterator[Watcher]:
    """Return the watcher of one run. `err`: lines go to standard error; then there is no progress bar."""
    if err or not sys.stdout.isatty():
        yield Watcher(_Pids(lambda line: say(line, err=err)).started, lambda phase, number, most: None, _pace(pace_seconds))
        return
    with _bar() as progress:
        task = progress.add_task("setup", total=None)

        def progressed(phase: str, number: int, most: int) -> None:
            progress.update(task, description=phase, completed=number, total=most)
            progress.refresh()

        lines = _Pids(lambda line: progress.console.print(line, soft_wrap=True))
        yield Watcher(lines.started, progressed, _pace(pace_seconds))


class _Pids:
    """Says a process id when it is new."""

    def __init__(self, line: Callable[[str], None]) -> None:
        self._line = line
        self._known: dict[str, int] = {}

    def started(self, actors: Sequence[tuple[str, int]]) -> None:
        """See Watcher."""
        fresh = [f"{actor} pid {pid}" for actor, pid in actors if self._known.get(actor) != pid]
        self._known = dict(actors)
        self._line(f"started   {', '.join(fresh)}")


def _bar() -> Progress:
    """A progress bar that is drawn when it is told to: a thread of its own would not survive the forks."""
    columns = (TextColumn("{task.description:<10}"), BarColumn(), MofNCompleteColumn(), TextColumn("rounds at most"))
    return Progress(
        *columns, console=terminal(), auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
    )


def _pace(seconds: float) -> Callable[[], None]:
    return (lambda: sleep(seconds)) if seconds else (lambda: None)
