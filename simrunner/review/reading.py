"""A design's statements as syntax trees, and the questions that several reviews ask of them.

The trees are sqlglot's for PostgreSQL, of the statements as sent: parameters are `$1`, `$2`, ... and every line is where it was.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from simrunner.config import place_of
from simrunner.config.place import shown
from simrunner.model.design import Design, OperationSource, Statement
from simrunner.model.operations import SCHEMAS
from simrunner.review.keys import keys_of

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it warns of what it takes for a command, which is said in a remark


@dataclass(frozen=True, eq=False)
class Read:
    """One statement of a design and its tree."""

    design: Design
    source: OperationSource
    statement: Statement
    root: exp.Expr | None
    """None: sqlglot cannot read it."""

    def place(self, node: exp.Expr | None = None) -> str:
        """Return `file:line` of the first name in a node; without one, of the statement."""
        named = [] if node is None else [name.meta["start"] for name in node.find_all(exp.Identifier) if "start" in name.meta]
        return place_of(self.design, self.source, self.statement, min(named, default=0) + 1)

    def all(self, *kinds: type[exp.Expr]) -> Iterator[exp.Expr]:
        """Yield the nodes of some kinds, outermost first."""
        return iter(()) if self.root is None else self.root.find_all(*kinds)

    def parameters_in(self, node: exp.Expr) -> set[str]:
        """Return the names of the parameters in a node; for membership tests only."""
        places = (found.name for found in node.find_all(exp.Parameter) if found.name.isdigit())
        return {self.statement.parameters[int(place) - 1] for place in places if int(place) <= len(self.statement.parameters)}


class Reading(NamedTuple):
    """A whole design as read."""

    design: Design
    statements: dict[str, tuple[Read, ...]]
    """Operation -> its statements in file order."""
    unique_keys: dict[str, list[frozenset[str]]]
    """Table -> the sets of columns that tell its rows apart, as far as the schema and design.toml say so."""

    @property
    def toml(self) -> str:
        """The design's own file, as messages show it."""
        return shown(Path(self.design.folder) / "design.toml")

    def of(self, *operations: str) -> list[Read]:
        """Return the statements of some operations, as far as the design offers them."""
        return [read for operation in operations for read in self.statements.get(operation, ())]

    def state_reads(self, select: exp.Select) -> bool:
        """Whether a SELECT reads a table of the design's state itself, not through another SELECT."""
        states = {bare(entry.table) for entry in self.design.state_tables}
        return any(
            table.name.lower() in states and table.parent_select is select and table.find_ancestor(exp.Lock) is None
            for table in select.find_all(exp.Table)
        )

    def candidates(self, read: Read) -> list[exp.Select]:
        """Return the SELECTs by which a statement chooses jobs.

        They read a table of the state and are limited, are compared with a column, or are the whole statement.
        """
        writes = any(True for _ in read.all(exp.Update, exp.Delete, exp.Insert, exp.Merge))
        return [
            select
            for select in read.all(exp.Select)
            if isinstance(select, exp.Select)
            and self.state_reads(select)
            and (select.args.get("limit") is not None or _is_compared(select) or (select is read.root and not writes))
        ]


def read_design(design: Design) -> Reading:
    """Parse every statement of a design."""
    statements = {
        operation: tuple(Read(design, source, statement, _tree(statement.sent)) for statement in source.statements)
        for operation, source in design.operations.items()
    }
    return Reading(design, statements, _unique_keys(design, [read for name in SCHEMAS for read in statements.get(name, ())]))


def bare(table: str) -> str:
    """Return a table's name without its schema, in lower case."""
    return table.rpartition(".")[2].strip('"').lower()


def lock_of(select: exp.Expr) -> exp.Lock | None:
    """Return the locking clause that holds for a SELECT: its own, or that of a SELECT around it.

    A locking clause reaches into the sub-queries of FROM but not into WITH queries
    (https://www.postgresql.org/docs/18/sql-select.html#SQL-FOR-UPDATE-SHARE). It does not reach into those of WHERE, but
    what they choose among is then the row that is locked.
    """
    node: exp.Expr | None = select
    while node is not None and not isinstance(node, exp.CTE):
        locks: Sequence[exp.Lock] = node.args.get("locks") or () if isinstance(node, exp.Select) else ()
        if locks:
            return locks[0]
        node = node.parent
    return None


def conjuncts(where: exp.Expr | None) -> list[exp.Expr]:
    """Return the conditions that a WHERE joins by AND."""
    if where is None:
        return []
    condition = where.this
    return list(condition.flatten()) if isinstance(condition, exp.And) else [condition]


def user_of(select: exp.Expr) -> exp.Expr | None:
    """Return what a sub-query stands in, parentheses left out."""
    parent = select.parent
    while isinstance(parent, exp.Subquery | exp.Paren):
        parent = parent.parent
    return parent


def unqualified(node: exp.Expr) -> str:
    """Return a node as SQL without table names, so that the same condition reads the same under another alias."""
    copy = node.copy()
    for column in copy.find_all(exp.Column):
        column.set("table", None)
        column.set("db", None)
    return copy.sql("postgres").lower()


def columns_set(write: exp.Expr) -> set[str]:
    """Return the columns that an UPDATE sets; for membership tests only."""
    return {item.this.name.lower() for item in write.args.get("expressions") or () if isinstance(item, exp.EQ)}


def targets(read: Read, *kinds: type[exp.Expr]) -> Iterator[exp.Expr]:
    """Yield the UPDATEs or DELETEs of a statement whose target is a table of the design's state."""
    states = {bare(entry.table) for entry in read.design.state_tables}
    for write in read.all(*kinds):
        table = write.find(exp.Table)
        if table is not None and table.name.lower() in states:
            yield write


def _is_compared(select: exp.Expr) -> bool:
    parent = user_of(select)
    if isinstance(parent, exp.Any):
        parent = parent.parent
    if not isinstance(parent, exp.EQ | exp.In) or parent.find_ancestor(exp.Where) is None:
        return False
    return any(isinstance(side, exp.Column) for side in (parent.this, parent.expression if isinstance(parent, exp.EQ) else None))


def _tree(sent: str) -> exp.Expr | None:
    try:
        root = sqlglot.parse_one(sent, read="postgres")
    except (SqlglotError, RecursionError):  # the second: nested too deeply
        return None
    return None if isinstance(root, exp.Command) else root


def _unique_keys(design: Design, schema: Iterable[Read]) -> dict[str, list[frozenset[str]]]:
    made = keys_of(read.root for read in schema if read.root is not None)
    keys = {table: list(named.values()) for table, named in made.items()}
    for entry in design.state_tables:
        keys.setdefault(bare(entry.table), []).append(frozenset({entry.job_column.lower()}))
    return keys
