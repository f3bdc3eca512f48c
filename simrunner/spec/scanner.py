"""Cuts a spec into tokens: keywords, names, `{ sql }` blocks, integers, punctuation. `#` begins a comment outside blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from simrunner.errors import InputError
from simrunner.spec.model import Place


class Kind(StrEnum):
    """What a token is, in the words of error messages."""

    SETUP = "'setup'"
    TEARDOWN = "'teardown'"
    SESSION = "'session'"
    STEP = "'step'"
    PERMUTATION = "'permutation'"
    NOTICES = "'notices'"
    NAME = "a name"
    SQL = "a { sql } block"
    INTEGER = "an integer"
    OPEN = "'('"
    CLOSE = "')'"
    COMMA = "','"
    STAR = "'*'"
    END = "the end of the file"


class Token(NamedTuple):
    """One token: its kind, what it means (name, SQL or digits), as it is written, and where."""

    kind: Kind
    value: str
    raw: str
    place: Place


_BLANK = " \t\r\f"
_PATTERN = re.compile(
    r"""
    (?P<blank> [ \t\r\f\n]+ | \#[^\n\r]* )
  | (?P<word> [A-Za-z_\x80-\U0010ffff][A-Za-z0-9_$\x80-\U0010ffff]* )
  | (?P<quoted> "(?:[^"\n]|"")*" )
  | (?P<sql> \{[^}]*\} )
  | (?P<integer> [0-9]+ )
  | (?P<punctuation> [,()*] )
    """,
    re.VERBOSE,
)
_KEYWORDS = {
    kind.value.strip("'"): kind for kind in (Kind.SETUP, Kind.TEARDOWN, Kind.SESSION, Kind.STEP, Kind.PERMUTATION, Kind.NOTICES)
}
_PUNCTUATION = {kind.value.strip("'"): kind for kind in (Kind.OPEN, Kind.CLOSE, Kind.COMMA, Kind.STAR)}


def tokens_of(text: str, file: str) -> Iterator[Token]:
    """Yield the tokens of a spec; the last is END. Raises InputError with `file:line:column` where there is none."""
    offset, place = 0, Place(1, 1)
    while offset < len(text):
        match = _PATTERN.match(text, offset)
        if match is None or "\0" in match.group():
            raise InputError(_mistake(text, offset, match), place=f"{file}:{place.line}:{place.column}")
        raw = match.group()
        if match.lastgroup != "blank":
            yield _token(str(match.lastgroup), raw, place)
        offset, place = match.end(), _moved(place, raw)
    yield Token(Kind.END, "", "", place)


def _token(group: str, raw: str, place: Place) -> Token:
    match group:
        case "word":
            return Token(_KEYWORDS.get(raw, Kind.NAME), raw, raw, place)
        case "quoted":
            return Token(Kind.NAME, raw[1:-1].replace('""', '"'), raw, place)
        case "sql":
            return Token(Kind.SQL, raw[1:-1].strip(_BLANK), raw, place)
        case "integer":
            return Token(Kind.INTEGER, raw, raw, place)
        case _:
            return Token(_PUNCTUATION[raw], raw, raw, place)


def _moved(place: Place, raw: str) -> Place:
    lines = raw.count("\n")
    if not lines:
        return Place(place.line, place.column + len(raw))
    return Place(place.line + lines, len(raw) - raw.rindex("\n"))


def _mistake(text: str, offset: int, match: re.Match[str] | None) -> str:
    if match is not None:
        return "this holds a character with code 0, which cannot be sent"
    match text[offset]:
        case '"':
            return "expected a closing '\"' on the same line"
        case "{":
            return "expected a closing '}' for this block of SQL, found the end of the file"
        case other:
            return f"expected a keyword, a name or a block of SQL, found the character {other!r}"
