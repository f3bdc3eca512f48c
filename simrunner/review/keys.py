"""The keys of a design's tables, as its schema files make, change and drop them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sqlglot import exp

Keys = dict[str, dict[str, frozenset[str]]]
"""Table -> name of a constraint or index -> the columns that it makes unique together."""


def keys_of(statements: Iterable[exp.Expr]) -> Keys:
    """Return the unique keys that are left when the statements of a schema have run, as far as CREATE, ALTER and DROP say so."""
    keys: Keys = {}
    for statement in statements:
        if isinstance(statement, exp.Create):
            table = statement.find(exp.Table)
            found = {} if table is None else dict(_made(table.name.lower(), statement))
            if table is not None and (found or statement.kind == "TABLE"):
                keys.setdefault(table.name.lower(), {}).update(found)
        elif isinstance(statement, exp.Alter):
            _alter(keys.setdefault(statement.this.name.lower(), {}), statement)
        elif isinstance(statement, exp.Drop) and statement.kind == "INDEX":
            for named in keys.values():
                _drop(named, statement)
    return keys


def _alter(named: dict[str, frozenset[str]], alter: exp.Alter) -> None:
    for action in alter.args["actions"]:
        if isinstance(action, exp.Drop):
            _drop(named, action)
        else:
            named.update(_made(alter.this.name.lower(), action))


def _drop(named: dict[str, frozenset[str]], drop: exp.Drop) -> None:
    """Drop constraints or an index by their names, and with a column what it is part of."""
    gone = {name.name.lower() for name in drop.find_all(exp.Identifier)}
    for name, columns in tuple(named.items()):
        if name in gone or (drop.kind == "COLUMN" and columns & gone):
            del named[name]


def _made(table: str, node: exp.Expr) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the keys that CREATE TABLE, CREATE INDEX or an action of ALTER TABLE makes."""
    if isinstance(node, exp.Create) and node.kind == "INDEX":
        parameters = node.this.args.get("params")
        if node.args.get("unique") and parameters is not None and parameters.args.get("where") is None:
            yield _named(node.this.name, table, parameters.args.get("columns") or (), "idx")
        return
    for key in node.find_all(exp.PrimaryKey, exp.PrimaryKeyColumnConstraint, exp.UniqueColumnConstraint):
        column = key.find_ancestor(exp.ColumnDef)
        columns = (
            key.expressions if isinstance(key, exp.PrimaryKey) else key.this.expressions if column is None else [column.this]
        )
        named = key.find_ancestor(exp.Constraint, exp.ColumnConstraint)
        is_unique = isinstance(key, exp.UniqueColumnConstraint)
        yield _named("" if named is None else named.name, table, columns, "key" if is_unique else "pkey")


def _named(name: str, table: str, columns: Sequence[exp.Expr], ending: str) -> tuple[str, frozenset[str]]:
    """Name a key; one without a name gets PostgreSQL's (https://www.postgresql.org/docs/18/ddl-constraints.html)."""
    names = [column.name.lower() for column in columns]
    own = name or "_".join([table, *([] if ending == "pkey" else names), ending])
    return own.lower(), frozenset(names)
