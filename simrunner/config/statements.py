"""Splits the lexemes of a SQL file into statements."""

from __future__ import annotations

from collections.abc import Sequence

from simrunner.config.lexemes import Kind, Lexeme


def split(lexemes: Sequence[Lexeme]) -> list[tuple[Lexeme, ...]]:
    """Return the statements' lexemes without their final `;`. Empty statements are left out.

    As in psql, a `;` inside parentheses (CREATE RULE) or between BEGIN ATOMIC and its END (a function body in standard
    SQL, https://www.postgresql.org/docs/18/sql-createfunction.html) does not end the statement.
    """
    statements: list[tuple[Lexeme, ...]] = []
    current: list[Lexeme] = []
    for lexeme in lexemes:
        if lexeme.raw == ";" and not _open(current):
            statements.append(tuple(current))
            current = []
        else:
            current.append(lexeme)
    statements.append(tuple(current))
    return [statement for statement in statements if statement]


def words_of(statement: Sequence[Lexeme]) -> list[str]:
    """Return a statement's words in upper case, without quoted ones."""
    return [lexeme.raw.upper() for lexeme in statement if lexeme.kind is Kind.WORD]


def _open(current: Sequence[Lexeme]) -> bool:
    parens = sum((lexeme.raw == "(") - (lexeme.raw == ")") for lexeme in current)
    return parens > 0 or _standard_body_depth(words_of(current)) > 0


def _standard_body_depth(words: Sequence[str]) -> int:
    if "ATOMIC" not in words:
        return 0
    return words.count("BEGIN") + words.count("CASE") - words.count("END")
