"""Statements whose effect is not confined to the database of the run, and so is not undone with it."""

from __future__ import annotations

from collections.abc import Iterator

from simrunner.config.lexemes import lexemes_of
from simrunner.config.statements import words_of
from simrunner.model.remark import Level, Remark
from simrunner.review.reading import Reading

_VERBS = ("CREATE", "ALTER", "DROP")
_SHARED = ("ROLE", "USER", "GROUP", "DATABASE", "TABLESPACE", "SYSTEM", "SUBSCRIPTION")
"""Kinds of objects that belong to the whole server: https://www.postgresql.org/docs/18/manage-ag-overview.html"""


def reaches(reading: Reading) -> Iterator[Remark]:
    """The embedded server forgets roles and databases; somebody else's server keeps them."""
    for reads in reading.statements.values():
        for read in reads:
            words = words_of(lexemes_of(read.statement.text))
            if words[:1] and words[0] in _VERBS and words[1:2] and words[1] in _SHARED and words[2:3] != ["MAPPING"]:
                yield Remark(
                    Level.HINT,
                    "reaches-outside",
                    f"{words[0]} {words[1]} changes the server, not only the run's database: behind --dsn it is not undone",
                    "leave it out, or use the embedded server, which is put back",
                    read.place(),
                )
