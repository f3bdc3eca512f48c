"""A design's statements with literals in place of their parameters, ready for psql or any other client."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from simrunner.config.clock import clock_edits
from simrunner.config.edits import Edit, apply
from simrunner.config.lexemes import lexemes_of
from simrunner.config.parameters import Use, uses_of
from simrunner.model.design import Statement
from simrunner.model.operations import OPERATIONS, PARAMETERS, ParameterType

Values = Mapping[str, str | int | None]


def filled(statement: Statement, operation: str, values: Values, fed: Collection[str] = ()) -> str:
    """Return a statement with its parameters as literals, but for those in `fed`, which stay as written.

    Time keywords become `now()`, which the exported clock replaces. Raises KeyError for a parameter without a value.
    """
    text = statement.text
    lexemes = lexemes_of(text)
    uses = [use for use in uses_of(text, lexemes, OPERATIONS[operation]) if use.name not in fed]
    edits = [Edit(use.start, use.end, literal(use.name, values[use.name])) for use in uses]
    return apply(text, [*edits, *clock_edits(text, lexemes)])


def forms(statement: Statement, operation: str, values: Values, fed: Collection[str]) -> dict[str, str]:
    """Return the fed parameters as the statement writes them, with the literals that they were in the run."""
    uses: list[Use] = uses_of(statement.text, lexemes_of(statement.text), OPERATIONS[operation])
    return {use.form: literal(use.name, values[use.name]) for use in uses if use.name in fed}


def literal(name: str, value: str | int | None) -> str:
    """Return a parameter's value as SQL: a text is a quoted literal of unknown type, a number is bare."""
    if value is None:
        return "NULL"
    if PARAMETERS[name] is ParameterType.NUMBER:
        return str(int(value))
    return quoted(str(value))


def quoted(text: str) -> str:
    """Return a text as a string literal."""
    return "'" + text.replace("'", "''") + "'"
