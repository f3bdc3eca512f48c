"""Killing an actor of a run under way from outside. Its coordinator sees an unplanned crash and goes on."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Annotated, Any

import msgspec

from simrunner.config.hints import suggestion
from simrunner.errors import EnvironmentFailure, InputError
from simrunner.runtime.coordinator import LIVE_JSON
from simrunner.runtime.process import start_time
from simrunner.store.folder import RUNNING, RunFolder


class _Known(msgspec.Struct):
    """A process of live.json."""

    pid: Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
    started: int


class _Live(msgspec.Struct):
    """live.json."""

    coordinator: _Known
    actors: dict[str, _Known]


def kill_actor(folder: RunFolder, actor: str) -> int:
    """SIGKILL an actor of a running run and return its process id.

    Raises InputError if the run is not running, the actor unknown or already dead, EnvironmentFailure if we may not kill it.
    """
    live = _live(folder)
    known = live.actors.get(actor)
    if known is None:
        raise InputError(f"no actor {actor!r} in {folder.path.name}; {suggestion(actor, live.actors)}")
    try:
        descriptor = os.pidfd_open(known.pid)
    except ProcessLookupError:
        raise _already_dead(actor, known.pid) from None
    try:
        # checked through the descriptor's process: its pid cannot become another's while we hold it and it lives
        if start_time(known.pid) != known.started or _parent(known.pid) != live.coordinator.pid:
            raise _already_dead(actor, known.pid)
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    except ProcessLookupError:
        raise _already_dead(actor, known.pid) from None
    except PermissionError as error:
        raise EnvironmentFailure(f"process {known.pid} of {actor} belongs to another user; kill it as that user") from error
    finally:
        os.close(descriptor)
    return known.pid


def _live(folder: RunFolder) -> _Live:
    if folder.status() != RUNNING:
        raise InputError(f"is not running ({folder.status()}); there is nobody to kill", place=folder.path)
    if not (folder.path / LIVE_JSON).exists():
        raise InputError("has not started its workers yet; try again in a moment", place=folder.path)
    document: Any = folder.read_json(LIVE_JSON)
    try:
        return msgspec.convert(document, _Live)
    except msgspec.ValidationError as error:
        raise InputError(f"is damaged ({error})", place=folder.path / LIVE_JSON) from error


def _already_dead(actor: str, pid: int) -> InputError:
    return InputError(f"{actor} (process {pid}) is dead already; the run starts it again in its next round")


def _parent(pid: int) -> int:
    """Process id of a living process's parent (proc(5), fields 3 and 4); 0 if there is none or it is a zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    state, parent = text.rpartition(")")[2].split()[:2]
    return 0 if state == "Z" else int(parent)
