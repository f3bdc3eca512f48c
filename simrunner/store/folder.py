"""The folder of one run: its creation, its lock, its small JSON files and its status.

The coordinator holds an exclusive flock(2) on `run.lock` for its whole life. A run that says `running` while nobody holds
that lock was interrupted; no time-out and no process id has to be trusted for it. Must not import numpy, pandas or pyarrow:
the coordinator forks its workers.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from simrunner.errors import RunFolderError
from simrunner.store import files

RUN_SCHEMA = 1
"""Version of run.json. A reader refuses a newer one."""

RUNNING, COMPLETE, FAILED, INTERRUPTED = "running", "complete", "failed", "interrupted"

LATEST = "latest"
RUN_JSON = "run.json"
RUN_LOCK = "run.lock"
NO_FACTS: Mapping[str, object] = {}


class RunFolder:
    """One run's folder, either created and locked by this process or opened to be read.

    `path` is absolute and free of symbolic links.
    """

    def __init__(self, path: Path, lock: int | None = None) -> None:
        self.path = path
        self._lock = lock

    @classmethod
    def create(
        cls,
        results: Path,
        workload: str,
        design: str,
        seed: int,
        started: datetime,
        *,
        records: bool = True,
        facts: Mapping[str, object] = NO_FACTS,
    ) -> Self:
        """Create `results/<workload>/<UTC time>-<design>-s<seed>/`, lock it and point the `latest` links at it.

        The folder takes its name only when it is complete (run.json with the `facts`, run.lock, an empty journal), so that a
        crash leaves no run that cannot be opened. A name that is taken gets `-2`, `-3`, ...
        `records=False`: it will hold other runs and has no events of its own. Raises RecordingFailed.
        """
        parent = results.resolve() / _folder_name(workload)
        with files.recording(parent):
            parent.mkdir(parents=True, exist_ok=True)
        folder = cls._draft(parent, workload, design, seed, started, records=records, facts=facts)
        moment = started.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
        with files.recording(parent):
            folder.path = _rename_to_free_name(folder.path, f"{moment}-{design.replace('/', '-')}-s{seed}")
            _point(parent / LATEST, folder.path)
            _point(parent.parent / LATEST, folder.path)
        return folder

    @classmethod
    def create_part(
        cls, path: Path, workload: str, design: str, seed: int, started: datetime, *, facts: Mapping[str, object] = NO_FACTS
    ) -> Self:
        """Create and lock the folder of a run that is part of another, at a path that is free. Raises RecordingFailed."""
        with files.recording(path):
            path.parent.mkdir(exist_ok=True)  # not the other's folder: that may have been removed
        folder = cls._draft(path.parent.resolve(), workload, design, seed, started, records=True, facts=facts)
        with files.recording(path):
            folder.path = folder.path.rename(folder.path.with_name(path.name))
        return folder

    @classmethod
    def _draft(
        cls,
        parent: Path,
        workload: str,
        design: str,
        seed: int,
        started: datetime,
        *,
        records: bool,
        facts: Mapping[str, object],
    ) -> Self:
        """Make a complete and locked run folder under a name that nobody looks for."""
        with files.recording(parent):
            _remove_left(parent)
            draft = _new_draft(parent)
        document = {
            "schema": RUN_SCHEMA,
            "status": RUNNING,
            "started": started.astimezone(UTC).isoformat(),
            "workload": workload,
            "design": design,
            "seed": seed,
            **facts,
        }
        try:
            folder = cls(draft, _take_lock(draft / RUN_LOCK))
            if records:
                with files.recording(draft):
                    _add_records(draft)
            folder.write_json(RUN_JSON, document)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        return folder

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a run folder, or a link such as `results/latest`, to be read.

        Raises RunFolderError if it is missing, not a run folder, damaged, or of a newer schema.
        """
        if not path.is_dir():
            raise RunFolderError("there is no such run folder; `ls results/*` shows the runs", place=path)
        if not (path / RUN_JSON).is_file():
            raise RunFolderError(f"is not a run folder: it has no {RUN_JSON}", place=path)
        folder = cls(path.resolve())
        folder.run()
        return folder

    @classmethod
    def reopen(cls, path: Path) -> Self:
        """Open and lock the folder of a run that is to go on. Raises RunFolderError as `open` does, and if it is running."""
        folder = cls.open(path)
        try:
            descriptor = os.open(folder.path / RUN_LOCK, os.O_RDWR)
        except OSError as error:
            raise RunFolderError(f"cannot go on ({error.strerror})", place=folder.path / RUN_LOCK) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise RunFolderError("is still running; wait for its end or stop it", place=path) from None
        folder._lock = descriptor
        return folder

    def run(self) -> dict[str, Any]:
        """Return the content of run.json. Raises RunFolderError for a damaged file or a newer schema."""
        document = self.read_json(RUN_JSON)
        schema = document.get("schema") if isinstance(document, dict) else None
        if not isinstance(schema, int):
            raise RunFolderError("is not a run of simrunner: it has no schema number", place=self.path / RUN_JSON)
        if schema > RUN_SCHEMA:
            raise RunFolderError(
                f"was written by a newer simrunner (schema {schema}, this one reads up to {RUN_SCHEMA}); upgrade simrunner",
                place=self.path / RUN_JSON,
            )
        return dict(document)

    def update_run(self, **changes: object) -> None:
        """Set keys of run.json, atomically. Only the run's own coordinator calls it. Raises RecordingFailed."""
        with files.recording(self.path / RUN_JSON):
            (self.path / RUN_JSON).stat()
        self.write_json(RUN_JSON, {**self.run(), **changes})

    def status(self) -> str:
        """Return `complete`, `failed`, `interrupted`, or `running` (only while a live process holds the lock)."""
        status = self.run().get("status")
        if status in (COMPLETE, FAILED):
            return str(status)
        return RUNNING if self._is_locked() else INTERRUPTED

    def write_json(self, name: str, document: object) -> None:
        """Write one JSON file of the folder atomically. Raises RecordingFailed."""
        files.write_json(self.path / name, document)

    def read_json(self, name: str) -> Any:
        """Return the content of one JSON file of the folder. Raises RunFolderError."""
        return files.read_json(self.path / name)

    def fileno(self) -> int:
        """Return the descriptor of the held lock. A forked child must close it: it would keep the lock alive.

        Raises ValueError if this object does not hold the lock.
        """
        if self._lock is None:
            raise ValueError("this run folder was opened for reading and holds no lock")
        return self._lock

    @property
    def is_owner(self) -> bool:
        """Whether this object holds the run's lock."""
        return self._lock is not None

    def close(self) -> None:
        """Give up the lock, if it is held."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _is_locked(self) -> bool:
        if self._lock is not None:
            return True
        try:
            descriptor = os.open(self.path / RUN_LOCK, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False


def _folder_name(workload: str) -> str:
    """A name without slashes, and none that means the folder itself or the one above: a workload may lie in `...toml`."""
    name = workload.replace("/", "-")
    return name.replace(".", "-") if name in (".", "..") else name


def _new_draft(parent: Path) -> Path:
    """Make a hidden folder that will be renamed when it is complete."""
    for number in count():
        draft = parent / f".new-{os.getpid()}-{number}"
        with suppress(FileExistsError):
            draft.mkdir()
            break
    return draft


def _remove_left(parent: Path) -> None:
    """Remove what processes left that were killed while they made a folder, or a link to one."""
    for draft in parent.glob(".new-*"):
        if not _is_in_use(draft):
            shutil.rmtree(draft, ignore_errors=True)
    for place in (parent, parent.parent):
        files.remove_unfinished(place, f".{LATEST}.*.tmp")


def _is_in_use(draft: Path) -> bool:
    """Whether the lock of a draft is held; without a lock yet, whether its process is there."""
    if (draft / RUN_LOCK).exists():
        return RunFolder(draft)._is_locked()
    return files.lives(draft.name.split("-")[-2])


def _add_records(draft: Path) -> None:
    (draft / "events").mkdir()
    (draft / "events" / "journal").touch()
    (draft / "final").mkdir()


def _take_lock(path: Path) -> int:
    with files.recording(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise
    return descriptor


def _rename_to_free_name(draft: Path, name: str) -> Path:
    """Rename a folder; rename(2) refuses a name that another run's (never empty) folder has, so two runs cannot share one."""
    for candidate in _candidates(name):
        try:
            return draft.rename(draft.with_name(candidate))
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
    raise AssertionError("candidates do not end")


def _candidates(name: str) -> Iterator[str]:
    yield name
    for number in count(2):
        yield f"{name}-{number}"


def _point(link: Path, target: Path) -> None:
    """Replace a relative symbolic link atomically: a reader follows the old one or the new one."""
    temporary = link.with_name(f".{link.name}.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(os.path.relpath(target, link.parent), target_is_directory=True)
    temporary.replace(link)
