"""Loads a design: its folder of SQL operations and its design.toml."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import structs

from simrunner.config.clock import mentions_statement_clock
from simrunner.config.design_file import DesignFile
from simrunner.config.document import Document
from simrunner.config.hints import suggestion
from simrunner.config.layers import Layers, read_layers
from simrunner.config.lexemes import lexemes_of
from simrunner.config.lookup import Entry, Library, entries, find
from simrunner.config.operation import SqlFile, read_operation
from simrunner.errors import DesignError, InputError
from simrunner.model.design import (
    Design,
    EffectTable,
    FailedHeartbeat,
    OperationSource,
    OrderColumn,
    Ownership,
    Policies,
    Promises,
    SessionSettings,
    StateTable,
    WorkerCode,
)
from simrunner.model.job import JobState
from simrunner.model.operations import OPERATIONS, WORKER_OPERATIONS

REQUIRED = ("schema", "seed", "claim", "jobs", "eligible")
"""Operations without which nothing can be asked of a design."""

NEW, GONE = "new", "gone"
"""In [transitions]: the state before the row was inserted, and after it was deleted."""

_CONNECTION = re.compile(r"[a-z][a-z0-9-]*")
_ORDER = re.compile(r"(\w+)(?:\s+(asc|desc))?", re.IGNORECASE)


def _names_in(root: Path) -> list[str]:
    return sorted(file.parent.relative_to(root).as_posix() for file in root.rglob("design.toml"))


DESIGNS = Library("design", "sql", DesignError, _names_in, lambda root, name: root / name / "design.toml")


def list_designs() -> list[Entry]:
    """Return the name and title of each design that can be named, by name. A title that cannot be read says why."""
    return entries(DESIGNS)


def load_design(name_or_path: str) -> Design:
    """Read and check a design by its name or the path of its folder. Raises DesignError for every mistake in it."""
    name, file = find(DESIGNS, name_or_path)
    layers = read_layers(file, DESIGNS)
    shape = layers.document.convert(layers.data, DesignFile)
    _check_operations(layers)
    results = _results(layers, shape)
    operations = {op: read_operation(sql, results.get(op, {})) for op, sql in layers.files.items()}
    _check_autocommit(layers.document, shape, operations)
    _check_worker(layers.document, shape, operations)
    _check_connections(layers.document, shape, operations)
    return _design(name, file.parent, layers, shape, operations)


def _design(name: str, folder: Path, layers: Layers, shape: DesignFile, operations: Mapping[str, OperationSource]) -> Design:
    return Design(
        name=name,
        title=shape.title,
        origin=shape.origin,
        folder=str(folder),
        sha256=_sha256(layers),
        ownership=shape.ownership,
        isolation=shape.isolation,
        work_in_claim_transaction=shape.work_in_claim_transaction,
        tidies_up=shape.tidies_up,
        uses_statement_clock=any(mentions_statement_clock(lexemes_of(source.text)) for source in operations.values()),
        autocommit=frozenset(shape.autocommit),
        session=SessionSettings(**structs.asdict(shape.session)),
        worker=WorkerCode(**structs.asdict(shape.worker)),
        connections=shape.connections,
        operations=operations,
        transitions=_transitions(layers.document, shape),
        promises=_promises(layers.document, shape),
        policies=Policies(**structs.asdict(shape.policies)),
        state_tables=tuple(StateTable(**structs.asdict(entry)) for entry in shape.state),
        effects=None if shape.effects is None else EffectTable(**structs.asdict(shape.effects)),
        expects_root_cause=None if shape.expects is None else shape.expects.root_cause,
        allows_consequences=frozenset(() if shape.expects is None else shape.expects.consequences),
    )


def _sha256(layers: Layers) -> str:
    digest = hashlib.sha256()
    parts = [*(("design.toml", text) for text in layers.texts), *((op, sql.text) for op, sql in layers.files.items())]
    for label, text in parts:
        data = text.encode()
        digest.update(f"{label} {len(data)}\n".encode() + data)
    return digest.hexdigest()


def _check_operations(layers: Layers) -> None:
    needed = ", ".join(f"{name}.sql" for name in REQUIRED)
    for name in REQUIRED:
        if name not in layers.files:
            raise layers.document.error((), f"the design has no {name}.sql; a design needs {needed}")
    _check_recovery(layers.document, layers.files)


def _check_recovery(document: Document, found: Mapping[str, SqlFile]) -> None:
    halves = [name for name in ("recover-read", "recover-write") if name in found]
    if len(halves) == 1:
        raise document.error(
            (), f"the design has {halves[0]}.sql without its other half; recover-read and recover-write go together"
        )
    if halves and "recover" in found:
        raise document.error(
            (), "the design has both recover.sql and recover-read.sql; keep one (removes = [...] drops an inherited one)"
        )


def _check_autocommit(document: Document, shape: DesignFile, operations: Mapping[str, OperationSource]) -> None:
    def wrong(what: str) -> InputError:
        return document.error(("autocommit",), f"autocommit: {what}")

    by_actors = [name for name in operations if not (OPERATIONS[name].fixture or OPERATIONS[name].observer)]
    for name in shape.autocommit:
        if name not in by_actors:
            raise wrong(f"{name!r} is no operation that an actor of this design takes; {suggestion(name, by_actors)}")
        if len(operations[name].statements) != 1:
            raise wrong(f"{name}.sql has several statements; they need a transaction")
    if "claim" in shape.autocommit and shape.work_in_claim_transaction:
        raise wrong("the claim has no transaction in which work could be done")


def _check_worker(document: Document, shape: DesignFile, operations: Mapping[str, OperationSource]) -> None:
    if shape.worker.failed_heartbeat is not FailedHeartbeat.RELEASE:
        return
    path = ("worker", "failed_heartbeat")
    for name in ("heartbeat", "release"):
        if name not in operations:
            raise document.error(path, f"{'.'.join(path)}: 'release' needs {name}.sql, which the design does not have")


def _check_connections(document: Document, shape: DesignFile, operations: Mapping[str, OperationSource]) -> None:
    """What a worker does may run on another connection of it, each operation on one."""
    of_workers = [name for name in operations if name in WORKER_OPERATIONS]
    taken: dict[str, str] = {}
    for connection, names in shape.connections.items():

        def wrong(what: str, key: str = connection) -> InputError:
            return document.error(("connections", key), f"connections.{key}: {what}")

        if _CONNECTION.fullmatch(connection) is None:
            raise wrong("a name is made of a-z, 0-9 and -, and begins with a letter")
        if not names:
            raise wrong("no operation runs on it; name one, or leave the connection out")
        if shape.work_in_claim_transaction:
            raise wrong("the work is done in the claim's transaction, which is on one connection")
        for name in names:
            if name not in of_workers:
                raise wrong(f"{name!r} is no operation that a worker of this design takes; {suggestion(name, of_workers)}")
            if name in taken:
                raise wrong(f"{name} runs on the connection {taken[name]} already")
            taken[name] = connection


def _results(layers: Layers, shape: DesignFile) -> dict[str, dict[str, str]]:
    kept = {name: fields for name, fields in shape.results.items() if name not in shape.removes}
    for name, fields in kept.items():
        _check_results(layers, name, fields)
    if "job" not in kept.get("claim", {}):
        raise layers.document.error(("results", "claim"), 'results.claim must name the column of the job\'s id, e.g. job = "id"')
    return kept


def _check_results(layers: Layers, name: str, fields: Mapping[str, str]) -> None:
    path = ("results", name)
    if name not in layers.files:
        raise layers.document.error(
            path, f"results.{name}: the design offers no such operation; {suggestion(name, layers.files)}"
        )
    for field in fields:
        if field not in OPERATIONS[name].returns:
            known = suggestion(field, OPERATIONS[name].returns)
            raise layers.document.error((*path, field), f"results.{name}.{field}: {name} has no such result; {known}")


def _transitions(document: Document, shape: DesignFile) -> frozenset[tuple[str | None, str | None]]:
    pairs: list[tuple[str | None, str | None]] = []
    for before, afters in shape.transitions.items():
        path = ("transitions", before)
        begin = _state(document, path, before, NEW)
        pairs += [(begin, _state(document, path, after, GONE)) for after in afters]
    return frozenset(pairs)


def _state(document: Document, path: tuple[str, str], word: str, outside: str) -> str | None:
    known = [outside, *JobState]
    if word not in known:
        raise document.error(path, f"transitions.{path[1]}: {word!r} is no state here; {suggestion(word, known)}")
    return None if word == outside else word


def _promises(document: Document, shape: DesignFile) -> Promises:
    _check_limit(document, shape)
    if not shape.policies.late_success_counts and shape.ownership is not Ownership.LEASE:
        path = ("policies", "late_success_counts")
        raise document.error(path, f"{'.'.join(path)}: only a lease can have lapsed; false needs ownership = 'lease'")
    values = structs.asdict(shape.promises)
    order = tuple(_order_column(document, text) for text in shape.promises.order)
    return Promises(**{**values, "invariants": frozenset(shape.promises.invariants), "order": order})


def _check_limit(document: Document, shape: DesignFile) -> None:
    promised, limit = "concurrency-limit" in shape.promises.invariants, shape.promises.concurrency_limit
    if promised and limit is None:
        raise document.error(("promises", "invariants"), "concurrency-limit needs promises.concurrency_limit")
    if limit is not None and not promised:
        path = ("promises", "concurrency_limit")
        raise document.error(path, f"{'.'.join(path)}: nothing judges it; add concurrency-limit to promises.invariants")


def _order_column(document: Document, text: str) -> OrderColumn:
    match = _ORDER.fullmatch(text.strip())
    if match is None:
        raise document.error(("promises", "order"), f"promises.order: {text!r} is not of the form 'column' or 'column desc'")
    return OrderColumn(match[1], (match[2] or "").lower() == "desc")
