"""Finding the line of a key in TOML text."""

from __future__ import annotations

import pytest

from simrunner.config.document import Path, line_of

TEXT = """\
a = 1
b.c = 2
[t]
a = [
  1,
]
[t.u]
v = 3
[[list]]
x = 1
[[list]]
y = 2
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("a",), 1),
        (("b", "c"), 2),
        (("t",), 3),
        (("t", "a"), 4),
        (("t", "a", 0), 4),
        (("t", "u", "v"), 8),
        (("t", "missing"), 3),
        (("list",), 9),
        (("list", 0, "x"), 10),
        (("list", 1, "y"), 12),
        (("list", 1, "x"), 11),
        (("missing",), None),
        ((), None),
    ],
)
def test_a_key_has_its_line_or_that_of_its_table(path: Path, line: int | None) -> None:
    assert line_of(TEXT, path) == line
