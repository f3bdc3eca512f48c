"""Whatever the text, the scanner answers or says what is wrong, and touches nothing but parameters and time keywords."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from simrunner.config.operation import SqlFile, read_operation
from simrunner.errors import DesignError
from simrunner.model.design import Statement

PIECES = (
    *(
        "'",
        '"',
        "$$",
        "$t$",
        "$",
        "--",
        "/*",
        "*/",
        "::",
        ":",
        ":=",
        "[",
        "]",
        "(",
        ")",
        ";",
        "\\",
        "\n",
        " ",
        "E'",
        "U&'",
        "$1",
        "1.5",
    ),
    *(
        ":'token'",
        ":batch",
        ":token",
        ":'x'",
        ":x",
        "batch",
        "token",
        "[1:2]",
        "now()",
        "current_date",
        "CURRENT_TIMESTAMP",
        "(3)",
    ),
    *(
        "BEGIN",
        "END",
        "ATOMIC",
        "CREATE",
        "FUNCTION",
        "DO",
        "SELECT",
        "AS",
        ".",
        "é",
        "日",
        "{#",
        "{%",
        "0x",
        "b'",
        "?",
        "@>",
        "\r\n",
    ),
)
SQL = st.one_of(st.lists(st.sampled_from(PIECES), max_size=25).map("".join), st.text(max_size=40))
QUOTED = st.sampled_from(["'{}'", "$${}$$", "$t${}$t$", '"{}"', "/*{}*/", "E'{}'", "x[{}]"])
INNER = st.lists(st.sampled_from([":batch", ":'token'", ":foo", " ", "::", "x"]), max_size=6).map("".join)


def read(text: str) -> tuple[Statement, ...]:
    return read_operation(SqlFile("claim", "claim.sql", "claim.sql", text), {}).statements


def answer(text: str) -> tuple[Statement, ...] | str:
    try:
        return read(text)
    except DesignError as error:
        return str(error)


@settings(deadline=None)
@given(SQL)
def test_the_scanner_answers_or_names_the_mistake(text: str) -> None:
    found = answer(text)
    if isinstance(found, str):
        assert found.startswith("claim.sql")
        return
    for statement in found:
        assert statement.text in text
        assert text.count("\n", 0, text.index(statement.text)) + 1 <= statement.line
        assert statement.sent.count("\n") == statement.text.count("\n")
        assert len(set(statement.parameters)) == len(statement.parameters)


@settings(deadline=None)
@given(QUOTED, INNER)
def test_nothing_inside_quotes_comments_or_brackets_is_a_parameter(frame: str, inner: str) -> None:
    quoted = frame.format(inner.replace("'", "''") if "'" in frame else inner)
    (statement,) = read(f"SELECT {quoted}, :batch")
    assert statement.sent == f"SELECT {quoted}, $1"


@settings(deadline=None)
@given(st.lists(st.sampled_from([":batch", ":'token'", ":'job_id'", ":attempt"]), min_size=1, max_size=8))
def test_numbers_lead_back_to_names(uses: list[str]) -> None:
    (statement,) = read("SELECT " + ", ".join(uses))
    names = [statement.parameters[int(number) - 1] for number in re.findall(r"\$(\d+)", statement.sent)]
    assert names == [use.strip(":'") for use in uses]
