"""Where designs and workloads are found: a path, the working directory, then the shipped ones."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import simrunner
from simrunner.config.hints import suggestion
from simrunner.config.place import shown
from simrunner.errors import InputError


class Library(NamedTuple):
    """One kind of thing that is looked up by name."""

    noun: str
    folder: str
    """`sql` or `workloads`, in the working directory and among the shipped files."""
    failure: type[InputError]
    names_in: Callable[[Path], list[str]]
    """The names of what lies in a root folder, sorted."""
    file_of: Callable[[Path, str], Path]
    """The file that a name stands for in a root folder."""


class Entry(NamedTuple):
    """A name that can be given to --design or as WORKLOAD, and its title."""

    name: str
    title: str


def roots(library: Library) -> list[Path]:
    """Return the folders in which names are looked up, in this order; in a source checkout both are one."""
    shipped = Path(simrunner.__file__).parent / "shipped-files" / library.folder
    places = (Path.cwd() / library.folder, shipped)
    return [place for place in dict.fromkeys(place.resolve() for place in places) if place.is_dir()]


def find(library: Library, name_or_path: str) -> tuple[str, Path]:
    """Return the name and the file that a user's name or path stands for.

    Raises the library's error, with near misses, where there is no such file.
    """
    places = [Path(), *roots(library)] if name_or_path else []
    for place in places:
        if (file := file_at(library, place, name_or_path)) is not None:
            _refuse_unwritable(library, str(file))
            return _name_of(library, file), file
    raise library.failure(_not_found(library, name_or_path))


def file_at(library: Library, place: Path, name: str) -> Path | None:
    """Return the file that a name stands for in a folder, without links; None where there is none."""
    try:
        file = library.file_of(place, name).resolve()
        return file if file.is_file() else None
    except (OSError, ValueError, RuntimeError):  # a name that no file can have, and links in a circle
        return None


def _refuse_unwritable(library: Library, path: str) -> None:
    """Refuse a path with bytes that are not UTF-8: no JSON of a run could name it."""
    try:
        path.encode()
    except UnicodeEncodeError:
        raise library.failure("the path is not UTF-8; rename it", place=path) from None


def files(library: Library) -> dict[str, Path]:
    """Return name -> file of everything in the roots, by name; the working directory hides a shipped one of its name."""
    found = {name: library.file_of(root, name) for root in reversed(roots(library)) for name in library.names_in(root)}
    return dict(sorted(found.items()))


def entries(library: Library) -> list[Entry]:
    """Return the name and title of everything that can be named, by name. A title that cannot be read says why."""
    return [Entry(name, _title(file)) for name, file in files(library).items()]


def is_there(path: str) -> bool:
    """Whether a path leads to something. One that no file can have does not."""
    try:
        return Path(path).exists()
    except OSError:  # too long
        return False


def read_text(path: Path, failure: type[InputError]) -> str:
    """Return a file's text with its line breaks as they are. Raises `failure` if it cannot be read or is not UTF-8."""
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise failure("cannot be read: it is not a file", place=shown(path))
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise failure(f"is not UTF-8 text (byte {error.start})", place=shown(path)) from error
    except OSError as error:
        raise failure(f"cannot be read: {error.strerror}", place=shown(path)) from error


def _title(file: Path) -> str:
    try:
        return str(tomllib.loads(file.read_text(encoding="utf-8")).get("title", ""))
    except (OSError, ValueError, RecursionError) as error:
        return f"(cannot be read: {error})"


def _name_of(library: Library, file: Path) -> str:
    for root in roots(library):
        for name in library.names_in(root):
            if library.file_of(root, name) == file:
                return name
    return file.parent.name if file.name == "design.toml" else file.stem


def _not_found(library: Library, name: str) -> str:
    where = " and ".join(shown(root) for root in roots(library)) or "no folder"
    absent = f"; {library.file_of(Path(), name)} does not exist" if name and is_there(name) else ""
    return f"no {library.noun} {name!r} (looked in {where}){absent}; {suggestion(name, files(library))}"
