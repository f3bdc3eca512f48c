"""A query's result as isolationtester prints it: libpq's PQprint with header and alignment.

Widths are bytes, and a column is right-aligned if all its values look like numbers:
https://www.postgresql.org/docs/18/libpq-exec.html#LIBPQ-PQPRINT
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_NUMBER = re.compile(rb"(?![Ee])[0-9.Ee -]*[0-9]")


def table(names: Sequence[bytes], rows: Sequence[Sequence[bytes]]) -> bytes:
    """Return the lines of a result; nothing for a result without columns. NULL is given and shown as an empty value."""
    if not names:
        return b""
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    widths = [max(map(len, (name, *values))) for name, values in zip(names, columns, strict=True)]
    numeric = [all(_NUMBER.fullmatch(value) for value in values if value) for values in columns]
    lines = [_line(names, widths, numeric), b"+".join(b"-" * width for width in widths)]
    lines += [_line(row, widths, numeric) for row in rows]
    return b"\n".join(lines) + b"\n(%d row%s)\n\n" % (len(rows), b"" if len(rows) == 1 else b"s")


def _line(values: Iterable[bytes], widths: Sequence[int], numeric: Sequence[bool]) -> bytes:
    cells = zip(values, widths, numeric, strict=True)
    return b"|".join(value.rjust(width) if right else value.ljust(width) for value, width, right in cells)
