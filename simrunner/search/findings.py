"""The violations that a campaign keeps: of each root cause the schedule with the smallest number, as a run folder of its own."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path

from simrunner.runtime.cluster import Cluster
from simrunner.search.explorer import Played
from simrunner.search.play import begin_part
from simrunner.store import files
from simrunner.store.final import write_final
from simrunner.store.folder import COMPLETE
from simrunner.store.journal import JOURNAL, Journal
from simrunner.store.schedules import ScheduleResult

FINDINGS = "findings"


def place_of(folder: Path, result: ScheduleResult) -> Path:
    """Return where a campaign keeps a violating schedule."""
    return folder / FINDINGS / f"{result.root_cause}-{result.schedule}"


def keep(played: Played, cluster: Cluster, folder: Path, started: datetime) -> None:
    """Write a schedule as a run folder, so that it can be analyzed, replayed and shrunk. Raises RecordingFailed."""
    place = place_of(folder, played.result)
    _remove(place)  # a campaign that was killed after it had written it runs the schedule again
    memory, final = played.memory, played.final
    with closing(begin_part(played.request, cluster, place, started)) as run:
        with closing(Journal(run.path / JOURNAL)) as journal:
            names = [(kind, ordinal, text) for kind, texts in memory.names.items() for ordinal, text in texts.items()]
            journal.append(memory.events, names, memory.decisions, memory.draws)
        if final is not None:
            write_final(run, final.jobs, final.audit)
            run.update_run(status=COMPLETE, deterministic=final.is_deterministic)


def firsts(results: Sequence[ScheduleResult]) -> dict[str, ScheduleResult]:
    """Return the first schedule of each root cause; `results` are in the order of their numbers."""
    found: dict[str, ScheduleResult] = {}
    for result in results:
        if result.root_cause is not None:
            found.setdefault(result.root_cause, result)
    return found


def prune(folder: Path, results: Sequence[ScheduleResult]) -> list[Path]:
    """Remove kept schedules that are not the first of their root cause, and drafts. Returns the others, by number."""
    kept = [place_of(folder, result) for result in firsts(results).values()]
    if (folder / FINDINGS).is_dir():
        for place in sorted((folder / FINDINGS).iterdir()):
            if place not in kept:
                _remove(place)
    return kept


def _remove(place: Path) -> None:
    with files.recording(place):
        if place.exists():
            shutil.rmtree(place)
