"""Time that escapes the virtual clock, and observers that read a clock at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from simrunner.config.clock import STATEMENT_CLOCKS, TIME_KEYWORDS, body_of, defines_code
from simrunner.config.escapes import escaping
from simrunner.config.lexemes import Kind, Lexeme, Unreadable, lexemes_of
from simrunner.config.place import line_at, shown
from simrunner.config.statements import split, words_of
from simrunner.model.design import OperationSource
from simrunner.model.operations import OPERATIONS
from simrunner.model.remark import Level, Remark
from simrunner.review.reading import Reading

_CLOCKS = {"now", "transaction_timestamp", *STATEMENT_CLOCKS}


def escapes(reading: Reading) -> Iterator[Remark]:
    """Literals such as 'now', and quoted code with time keywords: no clock that is put into a database reaches them."""
    for source in reading.design.operations.values():
        for offset, raw in escaping(source.text):
            yield Remark(
                Level.WARNING,
                "clock-escapes",
                f"{raw} reads the real clock, not the virtual one: a run does not repeat, and leases are judged by another time",
                "call now() instead, and put the code of functions between dollar quotes ($$), where keywords are rewritten",
                _place(reading, source, offset),
            )


def qualified(reading: Reading) -> Iterator[Remark]:
    """Calls such as pg_catalog.now(), and functions with a search_path of their own: reached only where we are superuser.

    Elsewhere the virtual clock stands in a schema before pg_catalog in the search_path.
    """
    for source in reading.design.operations.values():
        for offset, what in [*_qualified_calls(source.text), *_own_search_paths(source.text)]:
            yield Remark(
                Level.HINT,
                "clock-needs-superuser",
                f"{what}: the virtual clock reaches it on the embedded server, and behind --dsn only as superuser",
                "leave pg_catalog and the search_path out, if such a server is to be used",
                _place(reading, source, offset),
            )


def observers(reading: Reading) -> Iterator[Remark]:
    """jobs.sql, eligible.sql and audit.sql are read by the observer, whose session has no virtual clock."""
    for name, source in reading.design.operations.items():
        if OPERATIONS[name].observer:
            for lexeme in _clock_reads(lexemes_of(source.text)):
                yield Remark(
                    Level.WARNING,
                    "observer-reads-clock",
                    f"{lexeme.raw} in {name}.sql: the observer has no virtual clock, so what it reads depends on the real time",
                    "return the stored times and leave the judgement to the checkers"
                    + ("; the time that candidates are listed for is :'as_of'" if name == "eligible" else ""),
                    _place(reading, source, lexeme.start),
                )


def _clock_reads(lexemes: list[Lexeme]) -> Iterator[Lexeme]:
    for place, lexeme in enumerate(lexemes):
        following = lexemes[place + 1].raw if place + 1 < len(lexemes) else ""
        before = lexemes[place - 1].raw.upper() if place else ""
        is_keyword = lexeme.raw.upper() in TIME_KEYWORDS and before not in (".", "AS")
        if is_keyword or (lexeme.kind is Kind.WORD and lexeme.raw.lower() in _CLOCKS and following == "("):
            yield lexeme


def _qualified_calls(text: str, begin: int = 0) -> Iterator[tuple[int, str]]:
    lexemes = lexemes_of(text)
    for schema, dot, name, paren in zip(lexemes, lexemes[1:], lexemes[2:], lexemes[3:], strict=False):
        if (schema.raw.lower(), dot.raw, paren.raw) == ("pg_catalog", ".", "(") and name.raw.lower() in _CLOCKS:
            yield begin + schema.start, f"pg_catalog.{name.raw.lower()}()"
    for lexeme in lexemes:
        if lexeme.kind is Kind.BODY:
            tag, body = body_of(lexeme)
            with suppress(Unreadable):  # a body in another language than SQL
                yield from _qualified_calls(body, begin + lexeme.start + len(tag))


def _own_search_paths(text: str) -> Iterator[tuple[int, str]]:
    for statement in split(lexemes_of(text)):
        words = words_of(statement)
        if defines_code(statement) and "SEARCH_PATH" in words and words[words.index("SEARCH_PATH") - 1] == "SET":
            yield statement[0].start, "a function with a search_path of its own"


def _place(reading: Reading, source: OperationSource, offset: int) -> str:
    return f"{shown(Path(reading.design.folder) / source.path)}:{line_at(source.text, offset)}"
