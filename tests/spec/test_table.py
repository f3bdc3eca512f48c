"""Result tables, byte for byte as libpq's PQprint makes them."""

from __future__ import annotations

import pytest

from simrunner.spec.table import table


def test_a_table() -> None:
    rows = [[b"1", b"x", b""], [b"-20", b"long", b"2.5e7"]]
    assert table([b"id", b"text", b"n"], rows) == (
        b" id|text|    n\n---+----+-----\n  1|x   |     \n-20|long|2.5e7\n(2 rows)\n\n"
    )


def test_a_column_without_values_is_aligned_like_numbers() -> None:
    assert table([b"a"], [[b""]]) == b"a\n-\n \n(1 row)\n\n"
    assert table([b"ab", b"c"], []) == b"ab|c\n--+-\n(0 rows)\n\n"


def test_a_result_without_columns_prints_nothing() -> None:
    assert table([], [[], []]) == b""


@pytest.mark.parametrize(
    ("value", "numeric"),
    [(b"12", True), (b"1 2", True), (b"1-2", True), (b"2026-11-30", True), (b".5", True)]
    + [(b"E5", False), (b"e5", False), (b"5.", False), (b"5e", False), (b"+5", False), (b"1:2", False), (b"-", False)],
)
def test_what_looks_like_a_number_stands_on_the_right(value: bytes, numeric: bool) -> None:
    line = table([b"a long header"], [[value]]).split(b"\n")[2]
    assert line == (value.rjust(13) if numeric else value.ljust(13))


def test_widths_are_bytes() -> None:
    assert table([b"x"], [["é".encode()], [b"abc"]]).split(b"\n")[2:4] == ["é ".encode(), b"abc"]
