"""Reading and writing whole files of a run folder: atomic, and with errors that say what to do."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from simrunner.errors import RecordingFailed, RunFolderError

T = TypeVar("T")

_ADVICE = {
    errno.ENOSPC: "the disk is full: free space and run again",
    errno.EDQUOT: "the disk quota is used up: free space and run again",
    errno.EFBIG: "it may not become larger (`ulimit -f`): raise the limit and run again",
    errno.EROFS: "the file system is read-only: choose another results folder",
    errno.EACCES: "permission denied: choose a results folder that you may write to",
    errno.EPERM: "permission denied: choose a results folder that you may write to",
    errno.ENOENT: "it does not exist or was removed during the run: leave the results folder alone while a run is going on",
    errno.ENOTDIR: "part of the path is a file: choose another results folder",
}


@contextmanager
def recording(path: Path) -> Iterator[None]:
    """Turn an OSError while `path` is written into RecordingFailed that says what to do."""
    try:
        yield
    except OSError as error:
        raise recording_failed(path, error) from error


def recording_failed(path: Path, error: OSError) -> RecordingFailed:
    """Return the error for a path that could not be written."""
    advice = _ADVICE.get(error.errno or 0, f"{error.strerror or error}: check the results folder and run again")
    return RecordingFailed(f"{path} cannot be written: {advice}")


def write_bytes(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Write a file so that a reader sees its old or its new content, never a part. Raises RecordingFailed.

    The new content gets a temporary name beside `path` first. With `durable` it is on the disk before it takes its name.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with recording(path):
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                if durable:
                    os.fsync(file.fileno())
            temporary.replace(path)
        except OSError:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise


def remove_unfinished(folder: Path, pattern: str = "**/.*.tmp") -> None:
    """Remove the temporary files in a folder, usually also below it, of processes that were killed while they wrote."""
    for path in sorted(folder.glob(pattern)):
        if not lives(path.name.split(".")[-2]):
            with suppress(OSError):
                path.unlink()


def lives(pid: str) -> bool:
    """Whether there is a process of this id, taken from the name of a file that is to be finished."""
    return Path("/proc", pid).exists()


def write_json(path: Path, document: object, *, indent: int = 2, durable: bool = False) -> None:
    """Write a JSON file atomically. Raises RecordingFailed. An `indent` of -1 writes it without spaces or line feeds."""
    text = msgspec.json.format(msgspec.json.encode(document), indent=indent)
    write_bytes(path, text + b"\n", durable=durable)


def read_bytes(path: Path) -> bytes:
    """Return a file's content. Raises RunFolderError where it cannot be read."""
    with reading(path):
        return path.read_bytes()


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what keeps `path` from being read in the block into RunFolderError; what is no file is refused: a pipe would wait."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise RunFolderError("cannot be read: it is not a file", place=path)
        yield
    except (OSError, ValueError) as error:  # ValueError: a character with code 0 in the path
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise RunFolderError(f"cannot be read ({reason})", place=path) from error


def read_json(path: Path, of_type: type[T] | Any = Any) -> T:
    """Return a JSON file's content as `of_type`. Raises RunFolderError for a missing, truncated or wrongly typed file."""
    try:
        value: T = msgspec.json.decode(read_bytes(path), type=of_type)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RunFolderError(f"is truncated or not what simrunner wrote ({error})", place=path) from error
    return value
