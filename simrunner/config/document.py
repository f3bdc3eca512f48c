"""A TOML file with its text, so that a mistake is reported with its key, its line and what was expected."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from simrunner.config.hints import suggestion
from simrunner.errors import InputError

Path = tuple[str | int, ...]
"""Where a value stands, e.g. ("producers", 0, "priority")."""

_T = TypeVar("_T")
_AT = re.compile(r" - at `\$(.*)`$")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]")
_HEADER = re.compile(r"\s*\[(\[?)\s*([\w.\-]+)\s*\]")
_KEY = re.compile(r"\s*([\w.\-]+)\s*=")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*?)`")
_MISSING = re.compile(r"Object missing required field `(.*?)`")


@dataclass(frozen=True, slots=True)
class Document:
    """One TOML file as read."""

    place: str
    """As messages show it."""
    text: str
    failure: type[InputError]
    """The class of its errors."""

    def parse(self) -> dict[str, Any]:
        """Return the tables as plain objects. Raises `failure` with the line where the text is not TOML."""
        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            line = re.search(r"\(at line (\d+), ", str(error))
            place = f"{self.place}:{line[1]}" if line else self.place
            raise self.failure(f"not valid TOML: {error}", place=place) from error
        except RecursionError as error:
            raise self.failure("not valid TOML: its lists or tables are nested too deeply", place=self.place) from error
        except ValueError as error:  # a number that Python does not convert: it would take for ever
            raise self.failure(f"not valid TOML: {str(error).partition(';')[0]}", place=self.place) from error

    def convert(self, data: dict[str, Any], shape: type[_T]) -> _T:
        """Return `data` as `shape`, a msgspec.Struct. Raises `failure` that names key, line and what was expected."""
        try:
            return msgspec.convert(data, shape)
        except msgspec.ValidationError as error:
            path, message = explained(str(error), shape)
            raise self.error(path, message) from error

    def error(self, path: Path, message: str) -> InputError:
        """Return the error for the value at `path`; the line is left out where the text has no such key."""
        line = line_of(self.text, path)
        return self.failure(message, place=self.place if line is None else f"{self.place}:{line}")


def explained(message: str, shape: type) -> tuple[Path, str]:
    """Return where msgspec's message points to, and the message in words a user of the file understands."""
    at = _AT.search(message)
    path = _path(at[1]) if at else ()
    what = _AT.sub("", message).replace("`", "")
    expected = _type_at(inspect.type_info(shape), path)
    if unknown := _UNKNOWN.match(message):
        names = [field.encode_name for field in expected.fields] if isinstance(expected, inspect.StructType) else []
        return (*path, unknown[1]), f"unknown key {dotted((*path, unknown[1]))}; {suggestion(unknown[1], names)}"
    if missing := _MISSING.match(message):
        return path, f"the key {dotted((*path, missing[1]))} is missing"
    return path, f"{dotted(path) or 'the file'}: {what[0].lower()}{what[1:]}{choices(expected)}"


def dotted(path: Path) -> str:
    """Return a path as a user writes it: `producers[0].priority`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def line_of(text: str, path: Path) -> int | None:
    """Return the line, from 1, of the key at `path` or of the nearest table around it; None where there is none."""
    best, depth = None, 0
    for number, found in _keys(text):
        if depth < len(found) and path[: len(found)] == found:
            best, depth = number, len(found)
    return best


def _keys(text: str) -> list[tuple[int, Path]]:
    found: list[tuple[int, Path]] = []
    seen: dict[Path, int] = {}
    here: Path = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            here = tuple(header[2].split("."))
            if header[1]:
                found.append((number, here))
                seen[here] = seen.get(here, -1) + 1
                here = (*here, seen[here])
            found.append((number, here))
        elif key := _KEY.match(line):
            found.append((number, (*here, *key[1].split("."))))
    return found


def _path(text: str) -> Path:
    known = text.partition("[...]")[0]  # msgspec does not tell the key of a free table
    return tuple(int(index) if index else name for name, index in _STEP.findall(known))


def _type_at(shape: inspect.Type, path: Path) -> inspect.Type | None:
    node: inspect.Type | None = shape
    for step in path:
        node = _inner(node, step)
    return node


def _inner(node: inspect.Type | None, step: str | int) -> inspect.Type | None:
    if isinstance(node, inspect.UnionType):
        node = next((kind for kind in node.types if not isinstance(kind, inspect.NoneType)), None)
    if isinstance(node, inspect.StructType):
        return next((field.type for field in node.fields if field.encode_name == step), None)
    return node.item_type if isinstance(node, inspect.VarTupleType) else None


def choices(expected: inspect.Type | None) -> str:
    """Return `; expected one of: ...` for a type with few values, else nothing."""
    if isinstance(expected, inspect.LiteralType):
        return f"; expected one of: {', '.join(map(str, expected.values))}"
    if isinstance(expected, inspect.EnumType):
        return f"; expected one of: {', '.join(str(choice.value) for choice in expected.cls)}"
    return ""
