"""Reads one SQL file of a design: statements, parameters, and the text as it is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from simrunner.config.clock import clock_edits
from simrunner.config.edits import Edit, apply
from simrunner.config.lexemes import Kind, Lexeme, Unreadable, lexemes_of
from simrunner.config.parameters import Misuse, Use, uses_of
from simrunner.config.place import line_at
from simrunner.config.statements import split, words_of
from simrunner.errors import DesignError
from simrunner.model.design import OperationSource, Statement
from simrunner.model.operations import OPERATIONS, Operation


class SqlFile(NamedTuple):
    """One operation's file as read."""

    operation: str
    path: str
    """Relative to the design's folder, for the record."""
    place: str
    """As messages show it."""
    text: str

    def error(self, message: str, offset: int) -> DesignError:
        """Return the error for a character of the file."""
        return DesignError(message, place=f"{self.place}:{line_at(self.text, offset)}")


TRANSACTION_CONTROL = ("BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT")


def read_operation(file: SqlFile, results: Mapping[str, str]) -> OperationSource:
    """Return the operation's statements, ready to send.

    `results` maps canonical result fields to columns. Raises DesignError for text that does not tokenize, a file without a
    statement, transaction control, psql commands, `$n`, and parameters that are unknown or in the wrong form.
    """
    statements = tuple(_statement(file, lexemes) for lexemes in split(_lexemes(file)))
    if not statements:
        raise DesignError("holds no SQL statement; remove the file if the operation is not offered", place=file.place)
    return OperationSource(file.operation, file.path, file.text, statements, dict(results))


def _lexemes(file: SqlFile) -> list[Lexeme]:
    try:
        return lexemes_of(file.text)
    except Unreadable as broken:
        message = "the string, dollar quote, quoted identifier or comment that begins here is not closed"
        raise file.error(message, broken.offset) from broken


def _statement(file: SqlFile, lexemes: Sequence[Lexeme]) -> Statement:
    _refuse_transaction_control(file, lexemes)
    _refuse_foreign_syntax(file, lexemes)
    uses = _uses(file, lexemes, OPERATIONS[file.operation])
    names = tuple(dict.fromkeys(use.name for use in uses))
    edits = [Edit(use.start, use.end, f"${names.index(use.name) + 1}") for use in uses]
    begin, end = lexemes[0].start, lexemes[-1].end
    sent = apply(file.text, [*edits, *clock_edits(file.text, lexemes)], begin, end)
    return Statement(file.text[begin:end], sent, names, line_at(file.text, begin))


def _uses(file: SqlFile, lexemes: Sequence[Lexeme], operation: Operation) -> list[Use]:
    try:
        return uses_of(file.text, lexemes, operation)
    except Misuse as misuse:
        raise file.error(str(misuse), misuse.offset) from misuse


def _refuse_transaction_control(file: SqlFile, lexemes: Sequence[Lexeme]) -> None:
    first = lexemes[0].raw.upper()
    if first in TRANSACTION_CONTROL and "TO" not in words_of(lexemes):
        raise file.error(
            f"{first}: operation files hold no transaction control; the runner begins and ends transactions", lexemes[0].start
        )


def _refuse_foreign_syntax(file: SqlFile, lexemes: Sequence[Lexeme]) -> None:
    for lexeme, following in zip(lexemes, [*lexemes[1:], lexemes[-1]], strict=True):
        if lexeme.raw == "\\":
            raise file.error("a psql command (backslash): operation files hold SQL only", lexeme.start)
        if lexeme.raw == "$" and lexeme.kind is Kind.OTHER and following.raw.isdigit():
            raise file.error(f"${following.raw}: write parameters by name, as :'name' (text) or :name (number)", lexeme.start)
