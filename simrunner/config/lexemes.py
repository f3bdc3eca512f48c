"""Cuts SQL text into lexemes with their offsets, as PostgreSQL does: strings, dollar quotes, nested comments.

The tokenizer is sqlglot's for PostgreSQL with an empty COMMANDS set: unmodified it swallows everything after DO, CALL,
EXPLAIN, DECLARE, PREPARE, EXECUTE, LOCK and FETCH as one string.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import ClassVar, NamedTuple

from sqlglot import Token, TokenType
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import TokenError


class Kind(Enum):
    """What a lexeme is."""

    WORD = "word"
    """A keyword or an unquoted identifier."""
    STRING = "string"
    QUOTED = "quoted identifier"
    BODY = "dollar-quoted string"
    OTHER = "operator, number or punctuation"


class Lexeme(NamedTuple):
    """One lexeme as written."""

    kind: Kind
    raw: str
    start: int
    """Offset of its first character in the text."""
    end: int
    """Offset behind its last character."""


class Unreadable(Exception):
    """The text does not tokenize; `offset` is where the piece begins that has no end."""

    def __init__(self, offset: int) -> None:
        super().__init__(offset)
        self.offset = offset


class _Tokenizer(Postgres.Tokenizer):
    COMMANDS: ClassVar[set[TokenType]] = set()


_BLANK = re.compile(r"(?:\s|--[^\n]*(?:\n|$))*")
_WORD = re.compile(r"[^\W\d]")


def lexemes_of(text: str) -> list[Lexeme]:
    """Return the lexemes of SQL text; comments and white space are left out.

    Raises Unreadable where a string, a dollar quote, a quoted identifier or a comment is not closed.
    """
    tokenizer = _Tokenizer(dialect="postgres")
    try:
        tokens = tokenizer.tokenize(text)
    except TokenError as error:
        raise Unreadable(_broken_at(text, tokenizer.tokens)) from error
    return [_lexeme(text, token) for token in tokens]


def _broken_at(text: str, before: list[Token]) -> int:
    begin = before[-1].end + 1 if before else 0
    blank = _BLANK.match(text, begin)
    return blank.end() if blank else begin


def _lexeme(text: str, token: Token) -> Lexeme:
    raw = text[token.start : token.end + 1]
    return Lexeme(_kind(raw, token.token_type), raw, token.start, token.end + 1)


def _kind(raw: str, token_type: TokenType) -> Kind:
    if token_type is TokenType.HEREDOC_STRING:
        return Kind.BODY
    if raw.endswith("'"):
        return Kind.STRING
    if raw.endswith('"'):
        return Kind.QUOTED
    return Kind.WORD if _WORD.match(raw) else Kind.OTHER
