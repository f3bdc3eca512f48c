"""The coordinator of one run: a stage of its own, a journal, and a run folder that tells how the run ended."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from simrunner.errors import Interrupted, RecordingFailed, SimrunnerError
from simrunner.runtime import process
from simrunner.runtime.database import Database
from simrunner.runtime.performance import Request, perform
from simrunner.runtime.phases import Course
from simrunner.runtime.stage import Stage
from simrunner.runtime.world import World
from simrunner.store.final import write_final
from simrunner.store.folder import COMPLETE, FAILED, INTERRUPTED, RunFolder
from simrunner.store.journal import JOURNAL, Journal

__all__ = ["LIVE_JSON", "Request", "Watcher", "execute"]

LIVE_JSON = "live.json"
"""Process ids of a run under way, for `simrunner kill`."""


@dataclass(frozen=True, slots=True)
class Watcher:
    """Whom the coordinator tells how the run goes."""

    started: Callable[[Sequence[tuple[str, int]]], None]
    """(actor, process id) of all actors, whenever some were started."""
    progressed: Callable[[str, int, int], None]
    """Phase, round of the phase, rounds of the phase at most."""
    pace: Callable[[], None]
    """Called before each decision."""


def execute(request: Request, folder: RunFolder, database: Database, watcher: Watcher) -> None:
    """Run the request and leave its history, tape and final rows in the folder, with its status in run.json.

    Raises DesignError for SQL that the server refuses, Divergence when a tape cannot be followed, Interrupted, and
    EnvironmentFailure; what was recorded until then is kept.
    """
    with _telling_how_it_ended(folder):
        concurrent = request.mode == "rounds"
        stage = Stage(
            database, request.design, request.workload, concurrent=concurrent, reuse=request.reuse, coalesce=request.coalesce
        )
        with closing(stage), closing(Journal(folder.path / JOURNAL)) as journal:
            final = perform(request, stage, journal, lambda world: _course(request, world, folder, watcher), watcher.pace)
        write_final(folder, final.jobs, final.audit)
        folder.update_run(status=COMPLETE, deterministic=final.is_deterministic and not concurrent)


@contextmanager
def _telling_how_it_ended(folder: RunFolder) -> Iterator[None]:
    try:
        yield
    except (Interrupted, KeyboardInterrupt):
        with suppress(RecordingFailed):  # the first failure is the one to tell, here and below
            folder.update_run(status=INTERRUPTED)
        raise
    except Exception as error:
        words = str(error) if isinstance(error, SimrunnerError) else f"{type(error).__name__}: {error}"
        with suppress(RecordingFailed):
            folder.update_run(status=FAILED, error=words)
        raise


def _course(request: Request, world: World, folder: RunFolder, watcher: Watcher) -> Course:
    def started(world: World) -> None:
        folder.write_json(LIVE_JSON, _live(world))
        watcher.started([(lane.actor, lane.process.pid) for lane in world.lanes if lane.process])

    return Course(started, watcher.progressed, concurrent=request.mode == "rounds")


def _live(world: World) -> dict[str, Any]:
    running = {lane.actor: lane.process for lane in world.lanes if lane.process is not None}
    return {
        "coordinator": {"pid": os.getpid(), "started": process.start_time(os.getpid())},
        "actors": {actor: {"pid": one.pid, "started": one.started} for actor, one in running.items()},
    }
