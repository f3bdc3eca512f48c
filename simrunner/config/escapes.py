"""What the virtual clock cannot reach in a design's SQL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from simrunner.config.clock import TIME_KEYWORDS, body_of
from simrunner.config.lexemes import Kind, Lexeme, Unreadable, lexemes_of
from simrunner.config.place import line_at, shown
from simrunner.model.design import Design

_PRESENT = r"\s*(now|today|tomorrow|yesterday)\s*"
_WORDS = re.compile(rf"^e?'{_PRESENT}'$|''{_PRESENT}''|\b({'|'.join(TIME_KEYWORDS)})\b", re.IGNORECASE)
_LITERAL = re.compile(_PRESENT, re.IGNORECASE)


def escapes(design: Design) -> list[str]:
    """Return `file:line: what` for each literal that reads the real clock, in file order of the operations.

    That are 'now', 'today', 'tomorrow', 'yesterday', and quoted code with them or a time keyword, in function bodies too.
    """
    found: list[str] = []
    for source in design.operations.values():
        place = shown(Path(design.folder) / source.path)
        for offset, raw in escaping(source.text):
            found.append(f"{place}:{line_at(source.text, offset)}: {raw} reads the real clock, not the virtual one")
    return found


def escaping(text: str, begin: int = 0) -> Iterator[tuple[int, str]]:
    """Yield the offset, plus `begin`, and the text of each literal of a SQL text that reads the real clock."""
    for lexeme in _lexemes(text):
        if lexeme.kind is Kind.STRING and _WORDS.search(lexeme.raw):
            yield begin + lexeme.start, lexeme.raw
        elif lexeme.kind is Kind.BODY:
            tag, body = body_of(lexeme)
            if _LITERAL.fullmatch(body):
                yield begin + lexeme.start, lexeme.raw
            yield from escaping(body, begin + lexeme.start + len(tag))


def _lexemes(text: str) -> Sequence[Lexeme]:
    try:
        return lexemes_of(text)
    except Unreadable:  # a body in another language than SQL
        return ()
