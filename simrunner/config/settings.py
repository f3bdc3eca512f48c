"""Changes single values of a workload: `--set safety.rounds=20`, `--set backlog=1000`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
from msgspec import inspect

from simrunner.config.document import Path, choices
from simrunner.config.hints import suggestion
from simrunner.errors import WorkloadError


def settable(shape: type[msgspec.Struct], data: Any, around: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield (path, type) of every single value of `shape`; of a list of tables, those of the entries in `data`."""
    values = data if isinstance(data, dict) else {}
    for name, declared in get_type_hints(shape, include_extras=True).items():
        kind, path = _present(declared), (*around, name)
        inner = get_args(kind)[0] if get_origin(kind) is tuple else kind
        if not (isinstance(inner, type) and issubclass(inner, msgspec.Struct)):
            yield path, kind
        elif inner is kind and values.get(name) is not None:
            yield from settable(inner, values.get(name), path)
        elif inner is kind:
            continue
        else:
            for place, entry in enumerate(values.get(name, ())):
                yield from settable(inner, entry, (*path, place))


def _present(kind: Any) -> Any:
    """Return a table's type without the None of a table that may be left out."""
    tables = [one for one in get_args(kind) if isinstance(one, type) and issubclass(one, msgspec.Struct)]
    return tables[0] if isinstance(kind, UnionType) and tables else kind


def changed(
    data: Mapping[str, Any], settings: Mapping[str, str], shape: type[msgspec.Struct]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the data with the settings applied, and the settings under their full keys, sorted by key.

    A key is a dotted path as in the file (`producers.0.priority` for the first of a list) or its last part where that is
    unique; a value is read as the key's type, lists comma-separated. Raises WorkloadError for anything else.
    """
    fields = {".".join(map(str, path)): (path, kind) for path, kind in settable(shape, data)}
    result, applied = deepcopy(dict(data)), dict[str, str]()
    for key, value in settings.items():
        full = _full_key(key, list(fields))
        if full in applied:
            raise WorkloadError(f"--set {key}={value}: {full} is set twice")
        path, kind = fields[full]
        _put(result, path, _read(key, value, kind))
        applied[full] = value
    return result, dict(sorted(applied.items()))


def _full_key(key: str, known: list[str]) -> str:
    if key in known:
        return key
    matches = [other for other in known if other.endswith(f".{key}")]
    if len(matches) > 1:
        raise WorkloadError(f"--set {key}: which one? Write {' or '.join(matches)}")
    if not matches:
        raise WorkloadError(f"--set {key}: no such key; {suggestion(key, known)}")
    return matches[0]


def _read(key: str, value: str, kind: Any) -> Any:
    if get_origin(_bare(kind)) is tuple:
        return [part.strip() for part in value.split(",") if part.strip()]
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError as error:
        message = str(error).replace("`", "")
        raise WorkloadError(
            f"--set {key}={value}: {message[0].lower()}{message[1:]}{choices(inspect.type_info(kind))}"
        ) from error


def _bare(kind: Any) -> Any:
    return get_args(kind)[0] if hasattr(kind, "__metadata__") else kind


def _put(data: Any, path: Path, value: Any) -> None:
    for step in path[:-1]:
        data = data[step] if isinstance(step, int) else data.setdefault(step, {})
    data[path[-1]] = value
