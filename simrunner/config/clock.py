"""Rewrites the time keywords to calls of `now()`, which the virtual clock can replace.

Functions can be shadowed, keywords such as CURRENT_TIMESTAMP cannot. Each keyword means the same as its replacement:
https://www.postgresql.org/docs/18/functions-datetime.html#FUNCTIONS-DATETIME-CURRENT
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from simrunner.config.edits import Edit
from simrunner.config.lexemes import Kind, Lexeme, Unreadable, lexemes_of
from simrunner.config.statements import words_of

TIME_KEYWORDS = {
    "CURRENT_TIMESTAMP": "timestamptz",
    "LOCALTIMESTAMP": "timestamp",
    "CURRENT_DATE": "date",
    "CURRENT_TIME": "timetz",
    "LOCALTIME": "time",
}
"""Keyword -> the type to which `now()` is cast."""

STATEMENT_CLOCKS = ("statement_timestamp", "clock_timestamp", "timeofday")

_TAG = re.compile(r"\$[^$]*\$")


def clock_edits(text: str, statement: Sequence[Lexeme]) -> list[Edit]:
    """Return the edits that replace the time keywords of a statement, and of its body where it defines code."""
    edits = list(_keyword_edits(text, statement))
    if defines_code(statement):
        edits += _body_edits(statement)
    return edits


def defines_code(statement: Sequence[Lexeme]) -> bool:
    """Whether a statement is DO or CREATE FUNCTION or PROCEDURE: its dollar-quoted strings are code."""
    words = words_of(statement)[:4]
    return words[:1] == ["DO"] or (words[:1] == ["CREATE"] and ("FUNCTION" in words or "PROCEDURE" in words))


def mentions_statement_clock(lexemes: Sequence[Lexeme]) -> bool:
    """Whether statement_timestamp, clock_timestamp or timeofday occurs, bodies and strings included."""
    return any(clock in lexeme.raw.lower() for lexeme in lexemes for clock in STATEMENT_CLOCKS)


def body_of(lexeme: Lexeme) -> tuple[str, str]:
    """Return the tag (such as `$$`) and the inner text of a dollar-quoted string."""
    tag = _TAG.match(lexeme.raw)
    size = len(tag[0]) if tag else 0
    return lexeme.raw[:size], lexeme.raw[size : len(lexeme.raw) - size]


def _keyword_edits(text: str, lexemes: Sequence[Lexeme]) -> Iterator[Edit]:
    before = ""
    for place, lexeme in enumerate(lexemes):
        if lexeme.raw.upper() in TIME_KEYWORDS and before not in (".", "AS"):
            yield _replacement(text, lexeme, lexemes[place + 1 : place + 4])
        before = lexeme.raw.upper()


def _replacement(text: str, keyword: Lexeme, following: Sequence[Lexeme]) -> Edit:
    name = keyword.raw.upper()
    if [lexeme.raw for lexeme in following[::2]] == ["(", ")"] and following[1].raw.isdigit():
        return Edit(keyword.start, following[2].end, f"(now()::{TIME_KEYWORDS[name]}({following[1].raw}))")
    new = "now()" if name == "CURRENT_TIMESTAMP" else f"(now()::{TIME_KEYWORDS[name]})"
    return Edit(keyword.start, keyword.end, new)


def _body_edits(lexemes: Sequence[Lexeme]) -> Iterator[Edit]:
    for lexeme in lexemes:
        if lexeme.kind is Kind.BODY:
            tag, body = body_of(lexeme)
            yield from (_moved(edit, lexeme.start + len(tag)) for edit in _edits_within(body))


def _edits_within(body: str) -> list[Edit]:
    try:
        lexemes = lexemes_of(body)
    except Unreadable:  # a body in another language than SQL
        return []
    return [*_keyword_edits(body, lexemes), *_body_edits(lexemes)]


def _moved(edit: Edit, offset: int) -> Edit:
    return Edit(edit.start + offset, edit.end + offset, edit.new)
