"""Reading a stored run back, sealed or not, without writing to its folder."""

from __future__ import annotations

import fcntl
from typing import NamedTuple

from simrunner.errors import RunFolderError
from simrunner.history.context import AuditRow, Context
from simrunner.model.event import Event
from simrunner.model.job import JobRow
from simrunner.store import files, parquet
from simrunner.store.context import context_from
from simrunner.store.final import FinalRows, read_unsealed_final
from simrunner.store.folder import COMPLETE, RunFolder
from simrunner.store.journal import JOURNAL, Names, read_journal
from simrunner.store.seal import EVENTS, FINAL_AUDIT, FINAL_JOBS, NAMES_JSON, events_lock
from simrunner.store.sums import SEAL_JSON, compare, read_seal


class StoredHistory(NamedTuple):
    """What a run folder holds of a run."""

    events: list[Event]
    names: Names
    final_jobs: tuple[tuple[int, JobRow], ...] | None
    audit: tuple[AuditRow, ...] | None


class Loaded(NamedTuple):
    """What checkers need: the events in order and the constant part of the run."""

    events: list[Event]
    context: Context


def read_history(folder: RunFolder) -> StoredHistory:
    """Return a run's events, names and final rows. Raises RunFolderError, naming the file, for anything damaged."""
    with events_lock(folder, fcntl.LOCK_SH):
        if (folder.path / JOURNAL).exists():
            events, names = read_journal(folder.path / JOURNAL)
            final = read_unsealed_final(folder)
        else:
            events, names, final = _read_sealed(folder)
    return StoredHistory(events, names, final.jobs, final.audit)


def load(folder: RunFolder) -> Loaded:
    """Return a run's events and the context that its checkers judge them by. Raises RunFolderError."""
    events, names, jobs, audit = read_history(folder)
    completed = folder.status() == COMPLETE
    return Loaded(events, context_from(folder.run().get("context"), names, FinalRows(jobs, audit), completed=completed))


def _read_sealed(folder: RunFolder) -> tuple[list[Event], Names, FinalRows]:
    sealed = _verified(folder)
    parts = [name for name in sealed if name.startswith(f"{EVENTS}/")]
    events = [event for name in sorted(parts) for event in parquet.read_events(folder.path / name)]
    names: Names = files.read_json(folder.path / NAMES_JSON, Names)
    return events, names, _read_final(folder, sealed)


def _verified(folder: RunFolder) -> dict[str, str]:
    """Return the seal after every file was compared with it."""
    if not (folder.path / SEAL_JSON).exists():
        raise RunFolderError(f"has neither {JOURNAL} nor {SEAL_JSON}: its events were removed", place=folder.path)
    sealed = read_seal(folder.path)
    compare(folder.path, sealed)
    return sealed


def _read_final(folder: RunFolder, sealed: dict[str, str]) -> FinalRows:
    return FinalRows(
        parquet.read_jobs(folder.path / FINAL_JOBS) if FINAL_JOBS in sealed else None,
        parquet.read_audit(folder.path / FINAL_AUDIT) if FINAL_AUDIT in sealed else None,
    )
