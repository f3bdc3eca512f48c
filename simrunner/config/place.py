"""How a place in a file is written in messages: `sql/reference/claim.sql:7`."""

from __future__ import annotations

from pathlib import Path

from simrunner.model.design import Design, OperationSource, Statement


def shown(path: Path) -> str:
    """Return the path as messages show it: relative to the working directory where it lies inside, else absolute.

    A link is shown as itself, not as what it leads to.
    """
    absolute, here = path.parent.resolve() / path.name, Path.cwd().resolve()
    return str(absolute.relative_to(here) if absolute.is_relative_to(here) else absolute)


def line_at(text: str, offset: int) -> int:
    """Return the line, from 1, of a character offset from 0."""
    return text.count("\n", 0, offset) + 1


def place_of(design: Design, source: OperationSource, statement: Statement, position: int = 1) -> str:
    """Return `file:line` of a character of `statement.sent`.

    `position` counts from 1, as the P field of PostgreSQL's ErrorResponse does
    (https://www.postgresql.org/docs/18/protocol-error-fields.html). Rewriting keeps every line break, so that lines
    of the text as sent are those of the text as written.
    """
    line = statement.line + statement.sent.count("\n", 0, max(position - 1, 0))
    return f"{shown(Path(design.folder) / source.path)}:{line}"
