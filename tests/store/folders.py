"""Run folders for tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from simrunner.history.context import AuditRow
from simrunner.model.event import Event
from simrunner.model.job import JobRow, JobState
from simrunner.model.tape import Decision, Draw
from simrunner.store.final import write_final
from simrunner.store.folder import COMPLETE, RunFolder
from simrunner.store.journal import JOURNAL, Journal
from simrunner.store.tape import Setup
from tests.store.synthetic import chunks, synthetic

SETUP = Setup("0.1.0", "reference", "d" * 64, "high-depth", "w" * 64, (("fixture.jobs", "5"),), 7, "stepped", "pct", 18)
DECISIONS = (
    Decision("step", "worker-a", "claim:1"),
    Decision("advance", amount=1000),
    Decision("kill", "worker-b", "after-commit"),
)
DRAWS = (Draw("faults", 4, 2),)
NAMES = [("job", 1, "1"), ("token", 1, "worker-a.1/1"), ("key", 1, "k-1")]
JOBS = [(1, JobRow("1", "k-1", None, JobState.DONE, None, None, 1, None, 5, 6, None, 7, (0, "a")))]
AUDIT = [AuditRow(1, 1, 1, "ready", "claimed")]
EVENTS = synthetic(5)


def recorded(results: Path, events: Sequence[Event] = EVENTS, *, complete: bool = True) -> RunFolder:
    """Return the opened folder of a run that recorded `events` and then ended, or was interrupted."""
    with RunFolder.create(results, "high-depth", "reference", 7, datetime(2026, 9, 22, tzinfo=UTC)) as folder:
        folder.update_run(**asdict(SETUP))
        journal = Journal(folder.path / JOURNAL)
        journal.append([], NAMES, DECISIONS, DRAWS)
        for chunk in chunks(list(events), 9):
            journal.append(chunk)
        journal.close()
        if complete:
            write_final(folder, JOBS, AUDIT)
            folder.update_run(status=COMPLETE)
    return RunFolder.open(folder.path)
