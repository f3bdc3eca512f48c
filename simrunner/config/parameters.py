"""Finds the parameters `:'name'` and `:name` of a statement, by the contract of its operation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from simrunner.config.hints import suggestion
from simrunner.config.lexemes import Kind, Lexeme
from simrunner.model.operations import PARAMETERS, Operation, ParameterType

_NAME = re.compile(r"[^\W\d]\w*")


class Use(NamedTuple):
    """One place where a parameter is used: text[start:end] is `:'name'`, `:name` or `:"name"`."""

    name: str
    form: str
    """As written."""
    start: int
    end: int


class Misuse(Exception):
    """A use that the operation's contract does not allow; the message says what to write."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


def uses_of(text: str, statement: Sequence[Lexeme], operation: Operation) -> list[Use]:
    """Return the uses in text order. A colon counts where a name or a quoted name follows it directly.

    Not inside `[...]` (array slices), casts `::`, strings, comments and dollar-quoted bodies. Raises Misuse.
    """
    uses = list(_candidates(text, statement))
    for use in uses:
        _check(use, operation)
    return uses


def _candidates(text: str, statement: Sequence[Lexeme]) -> Iterator[Use]:
    depth = 0
    for lexeme, following in zip(statement, [*statement[1:], None], strict=True):
        depth += (lexeme.raw == "[") - (lexeme.raw == "]")
        if lexeme.raw == ":" and depth <= 0 and following is not None and following.start == lexeme.end:
            yield from _use(text, lexeme, following)


def _use(text: str, colon: Lexeme, following: Lexeme) -> Iterator[Use]:
    name = _NAME.match(text, colon.end)
    if following.raw[0] in "'\"" and following.kind in (Kind.STRING, Kind.QUOTED):
        yield Use(following.raw[1:-1], f":{following.raw}", colon.start, following.end)
    elif name:
        yield Use(name[0], f":{name[0]}", colon.start, name.end())


def _check(use: Use, operation: Operation) -> None:
    if use.name not in operation.takes:
        raise Misuse(_not_taken(use, operation), use.start)
    right = f":'{use.name}'" if PARAMETERS[use.name] is ParameterType.TEXT else f":{use.name}"
    if use.form != right:
        raise Misuse(f"{use.form}: the parameter {use.name} is {PARAMETERS[use.name]}: write {right}", use.start)


def _not_taken(use: Use, operation: Operation) -> str:
    taken = suggestion(use.name, operation.takes) if operation.takes else "it takes none"
    message = f"{use.form}: {operation.name}.sql takes no parameter of that name; {taken}"
    if use.name in PARAMETERS:
        return message
    other = "" if use.form[1] in "'\"" else ". If it is none, put a space behind the colon"
    return f"unknown parameter {message}{other}"
