"""A design's folder and those that it extends, joined: design.toml key by key, operation files one by one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from simrunner.config.document import Document
from simrunner.config.hints import suggestion
from simrunner.config.lookup import Library, file_at, find, read_text
from simrunner.config.operation import SqlFile
from simrunner.config.place import shown
from simrunner.errors import DesignError
from simrunner.model.operations import OPERATIONS

_DEPTH_MAX = 8
"""Folders in one chain of `extends`; more is a circle."""


class Layers(NamedTuple):
    """A design's folder joined with those it extends."""

    document: Document
    """The design's own design.toml; a mistake in an inherited key was found there."""
    data: dict[str, Any]
    """The tables of all design.toml files together."""
    files: dict[str, SqlFile]
    """Operation -> file, in the order of OPERATIONS."""
    texts: tuple[str, ...]
    """The design.toml files as read, the design's own first."""


def read_layers(file: Path, library: Library, depth: int = 0) -> Layers:
    """Read the design.toml at `file` and everything beside it and beneath it. Raises DesignError."""
    document = Document(shown(file), read_text(file, DesignError), DesignError)
    own = document.parse()
    _refuse_circle(document, depth)
    base = _base(document, own, file.parent, library)
    below = None if base is None else read_layers(base, library, depth + 1)
    inherited = {} if below is None else below.data
    found = _joined_files(document, own, file.parent, {} if below is None else below.files)
    data = merged(_kept(inherited, found), own)
    return Layers(document, data, found, (document.text, *(() if below is None else below.texts)))


def _kept(inherited: Mapping[str, Any], offered: Mapping[str, SqlFile]) -> dict[str, Any]:
    """What a design takes over from the one that it extends: no results of operations that it removes."""
    data = {key: value for key, value in inherited.items() if key not in ("extends", "removes")}
    results = data.get("results")
    if isinstance(results, dict):
        data["results"] = {name: fields for name, fields in results.items() if name in offered}
    return data


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return two tables as one: tables are joined key by key, every other value of `above` replaces that of `below`."""
    joined = dict(below)
    for key, value in above.items():
        inherited = joined.get(key)
        joined[key] = merged(inherited, value) if isinstance(inherited, dict) and isinstance(value, dict) else value
    return joined


def _refuse_circle(document: Document, depth: int) -> None:
    if depth > _DEPTH_MAX:
        raise document.error(("extends",), f"extends: more than {_DEPTH_MAX} designs extend each other; is it a circle?")


def _base(document: Document, own: Mapping[str, Any], folder: Path, library: Library) -> Path | None:
    name = own.get("extends")
    if name is None:
        return None
    if not isinstance(name, str) or not name:
        raise document.error(("extends",), "extends: expected the name or the path of a design")
    for place in (folder, *folder.parents):
        if (file := file_at(library, place, name)) is not None:
            return file
    try:
        return find(library, name)[1]
    except DesignError as error:
        raise document.error(("extends",), f"extends: {error}") from error


def _joined_files(document: Document, own: Mapping[str, Any], folder: Path, below: Mapping[str, SqlFile]) -> dict[str, SqlFile]:
    added = {path.stem: _sql_file(path, folder) for path in sorted(folder.glob("*.sql"))}
    removed = own.get("removes")
    removed = removed if isinstance(removed, list) else []  # anything else is told when the file gets its shape
    _check_removed(document, removed, added, below)
    kept = {name: _seen_from(file, folder, Path(file.place)) for name, file in below.items() if name not in removed}
    together = {**kept, **added}
    return {name: together[name] for name in OPERATIONS if name in together}


def _check_removed(document: Document, removed: list[Any], added: Mapping[str, SqlFile], below: Mapping[str, SqlFile]) -> None:
    for name in removed:
        if name in added:
            raise document.error(("removes",), f"removes: {name!r} is removed, yet {name}.sql lies beside this file")
        if name not in below:
            raise document.error(("removes",), f"removes: {name!r} is no inherited operation; {suggestion(str(name), below)}")


def _sql_file(path: Path, folder: Path) -> SqlFile:
    if path.stem not in OPERATIONS:
        raise DesignError(f"{path.stem!r} is no operation; {suggestion(path.stem, OPERATIONS)}", place=shown(path))
    return SqlFile(path.stem, path.relative_to(folder).as_posix(), shown(path), read_text(path, DesignError))


def _seen_from(file: SqlFile, folder: Path, path: Path) -> SqlFile:
    return file._replace(path=Path(os.path.relpath(path, folder)).as_posix())
