"""Whatever the text: a spec or a message with a place. A spec that is written down is read back as it was."""

from __future__ import annotations

import re
from math import factorial, prod

from hypothesis import given, settings
from hypothesis import strategies as st

from simrunner.errors import InputError
from simrunner.spec.interleavings import interleavings
from simrunner.spec.parser import parse
from simrunner.spec.plan import plan_of
from simrunner.spec.table import table

KEYWORDS = ("setup", "teardown", "session", "step", "permutation", "notices")
PIECES = st.one_of(
    st.sampled_from(
        [*KEYWORDS, "a", "b", '"a"', '"', '""', "{", "}", "{ x }", "(", ")", ",", "*", "#", "\n", " ", "7", "\0", "é"]
    ),
    st.text(max_size=3),
)
NAMES = st.text(st.characters(exclude_characters="\n\0", codec="utf-8"), max_size=8)
SQL = st.text(st.characters(exclude_characters="}\0", codec="utf-8"), max_size=20).map(lambda sql: sql.strip(" \t\r\f"))


@settings(deadline=None)
@given(st.lists(PIECES, max_size=40).map(" ".join))
def test_any_text_is_a_spec_or_an_error_with_a_place(text: str) -> None:
    try:
        plan_of(text, "f", "f")
    except InputError as error:
        place = re.match(r"f:(\d+):(\d+): .", str(error))
        assert place
        line, column = map(int, place.groups())
        lines = text.split("\n")
        assert 1 <= column <= len(lines[line - 1]) + 1


@settings(deadline=None)
@given(st.lists(st.tuples(NAMES, SQL), min_size=1, max_size=5), st.lists(st.sampled_from([" ", "\n", "\t", "# x\n"])))
def test_names_and_sql_are_read_as_they_were_written(steps: list[tuple[str, str]], blanks: list[str]) -> None:
    blank = "".join(blanks)
    written = "".join(f'step{blank}"{name.replace(chr(34), chr(34) * 2)}"{blank}{{ {sql}\t}}{blank}' for name, sql in steps)
    (session,) = parse(f"session{blank} s {blank}{written}", "f").sessions
    assert [(step.name, step.sql) for step in session.steps] == steps


@settings(deadline=None)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=4))
def test_interleavings_are_all_there_once_and_in_order(counts: list[int]) -> None:
    found = list(interleavings(counts))
    assert found == sorted(set(found))
    assert len(found) == factorial(sum(counts)) // prod(map(factorial, counts))
    assert all([order.count(index) for index in range(len(counts))] == counts for order in found)


@settings(deadline=None)
@given(st.lists(st.lists(st.binary(max_size=6).filter(lambda value: b"\n" not in value), min_size=2, max_size=2), max_size=4))
def test_the_lines_of_a_table_are_equally_long(rows: list[list[bytes]]) -> None:
    *lines, count, nothing, end = table([b"id", b"a name"], rows).split(b"\n")
    assert (nothing, end) == (b"", b"")
    assert count == (b"(1 row)" if len(rows) == 1 else b"(%d rows)" % len(rows))
    assert len({len(line) for line in lines}) == 1
    assert len(lines) == 2 + len(rows)
