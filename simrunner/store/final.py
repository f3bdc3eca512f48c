"""What the coordinator read from the database at the end of a run: `final/rows.json` until the run is sealed.

Without pyarrow, because the coordinator writes it. Sealing turns it into `final/jobs.parquet` and `final/audit.parquet`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simrunner.history.context import AuditRow
from simrunner.model.job import JobRow
from simrunner.store import files
from simrunner.store.folder import RunFolder

FINAL_ROWS = "final/rows.json"


@dataclass(frozen=True, slots=True)
class FinalRows:
    """The committed end state of a run."""

    jobs: tuple[tuple[int, JobRow], ...] | None
    """(job ordinal, canonical row); None: not read, the run was interrupted."""
    audit: tuple[AuditRow, ...] | None
    """None: the design offers no audit trail, or it was not read."""


NOT_READ = FinalRows(None, None)


def write_final(folder: RunFolder, jobs: Sequence[tuple[int, JobRow]], audit: Sequence[AuditRow] | None) -> None:
    """Write the final rows, atomically. Raises RecordingFailed."""
    rows = FinalRows(tuple(jobs), None if audit is None else tuple(audit))
    files.write_json(folder.path / FINAL_ROWS, rows, indent=-1)


def read_unsealed_final(folder: RunFolder) -> FinalRows:
    """Return the final rows of a folder that is not sealed yet. Raises RunFolderError."""
    path = folder.path / FINAL_ROWS
    return files.read_json(path, FinalRows) if path.exists() else NOT_READ
