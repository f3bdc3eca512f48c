"""Ways to spoil a file: small pure functions of its bytes and a source of chance."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

Mutation = Callable[[bytes, Random], bytes]

DEEP = "deep nesting stands here"
NESTED = {"[": b"[" * 5000 + b"]" * 5000, "{": b'{"a":' * 5000 + b"1" + b"}" * 5000}

NUMBERS = (
    *("0", "-1", "1", "2", "7", "-0", "1.5", "-1e400", "1e400", "nan", "inf", "NaN", "Infinity", "0x10", "1_000"),
    *("2147483647", "2147483648", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "1" + "0" * 400),
    *("9" * 5000, "1000000", "1000001", "99999", "64", "65"),
)
TEXTS = (
    *("", " ", "x", "../x", "../../../../nowhere/x", "/", ".", "..", "a/b", "latest", "con:1", "-", "--help", "%s", "{0}", "$1"),
    *(
        "\0",
        "a\0b",
        "\x1b[2J",
        "\n",
        "a\nb",
        "\r\n",
        "\ufeff",
        "\u2028",
        "é",
        "日本",
        "e\u0301",
        "\U0001f600",
        "\u202e",
        "x" * 10_000,
    ),
    *(
        "[bold]",
        "[/]",
        "ready",
        "done",
        "running",
        "complete",
        "violated",
        "valid",
        "rounds",
        "stepped",
        "kill",
        "step",
        "worker-a",
    ),
    *("worker-z", "claim", "recoverer", "reference", "smoke", "read committed", "claim-order", "99", "true", "null"),
)
INSERTS = (
    *(
        b"\0",
        b"\xff",
        b"\xc3",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf",
        b"\r",
        b"\r\n",
        b"\n",
        b'"',
        b"'",
        b"\\",
        b"[",
        b"]",
        b"{",
        b"}",
        b"=",
        b"#",
    ),
    *(
        b"$$",
        b":",
        b";",
        b"--",
        b"/*",
        b"*/",
        b"(",
        b")",
        b",",
        b"\x1b[31m",
        b"\xe2\x80\xa8",
        b"[" * 3000,
        b"(" * 3000,
        b"$a$",
        b":'x'",
        b":x",
    ),
    *(b"COMMIT;", b"BEGIN ATOMIC", b"CURRENT_TIMESTAMP", b"\\gexec\n", b"$1", b"E'\\", b"U&'", b"/*" * 2000),
)


def _span(data: bytes, chance: Random, most: int = 40) -> tuple[int, int]:
    begin = chance.randrange(len(data) + 1)
    return begin, min(len(data), begin + 1 + chance.randrange(most))


def flip(data: bytes, chance: Random) -> bytes:
    """Change a few bytes."""
    spoilt = bytearray(data)
    for _ in range(1 + chance.randrange(4)):
        if spoilt:
            spoilt[chance.randrange(len(spoilt))] ^= 1 << chance.randrange(8)
    return bytes(spoilt)


def cut(data: bytes, chance: Random) -> bytes:
    """Keep the beginning only."""
    return data[: chance.randrange(len(data) + 1)]


def drop(data: bytes, chance: Random) -> bytes:
    """Leave some bytes out."""
    begin, end = _span(data, chance)
    return data[:begin] + data[end:]


def double(data: bytes, chance: Random) -> bytes:
    """Write some bytes twice."""
    begin, end = _span(data, chance, 400)
    return data[:end] + data[begin:]


def insert(data: bytes, chance: Random) -> bytes:
    """Put something nasty somewhere."""
    begin, _ = _span(data, chance)
    return data[:begin] + chance.choice(INSERTS) + data[begin:]


def empty(data: bytes, chance: Random) -> bytes:
    """Nothing, or hardly anything, is left."""
    return chance.choice((b"", b"\n", b" ", b"\0" * 100, b"\xef\xbb\xbf"))


def bom(data: bytes, chance: Random) -> bytes:
    """Begin with a byte order mark."""
    return b"\xef\xbb\xbf" + data


def crlf(data: bytes, chance: Random) -> bytes:
    """Break lines as on Windows, or as on a very old Mac."""
    return data.replace(b"\n", chance.choice((b"\r\n", b"\r")))


def recode(data: bytes, chance: Random) -> bytes:
    """Another encoding."""
    return data.decode(errors="replace").encode(chance.choice(("utf-16", "utf-32", "utf-7")), errors="replace")


BYTES: tuple[Mutation, ...] = (flip, flip, cut, drop, double, insert, insert, empty, bom, crlf, recode)


def line_dropped(data: bytes, chance: Random) -> bytes:
    """Leave a line out."""
    lines = data.splitlines(keepends=True)
    if lines:
        del lines[chance.randrange(len(lines))]
    return b"".join(lines)


def line_doubled(data: bytes, chance: Random) -> bytes:
    """Write a line again, there or elsewhere."""
    lines = data.splitlines(keepends=True)
    if lines:
        line = chance.choice(lines)
        lines.insert(chance.choice((lines.index(line), chance.randrange(len(lines) + 1))), line)
    return b"".join(lines)


def lines_swapped(data: bytes, chance: Random) -> bytes:
    """Let two lines change places."""
    lines = data.splitlines(keepends=True)
    if len(lines) > 1:
        one, other = chance.sample(range(len(lines)), 2)
        lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


def _replaced(pattern: bytes, data: bytes, chance: Random, new: Callable[[re.Match[bytes]], bytes]) -> bytes:
    found = list(re.finditer(pattern, data))
    if not found:
        return data
    match = chance.choice(found)
    return data[: match.start()] + new(match) + data[match.end() :]


def number_changed(data: bytes, chance: Random) -> bytes:
    """Another number, or what only looks like one."""
    return _replaced(rb"-?\b\d+(?:\.\d+)?\b", data, chance, lambda match: chance.choice(NUMBERS).encode())


def text_changed(data: bytes, chance: Random) -> bytes:
    """Another text between quotes."""
    new = json.dumps(chance.choice(TEXTS), ensure_ascii=chance.random() < 0.5).encode()
    return _replaced(rb'"[^"\n]*"', data, chance, lambda match: new)


def word_changed(data: bytes, chance: Random) -> bytes:
    """Another word: one of the file's own, or of those that mean something."""
    words = re.findall(rb"[A-Za-z_][\w-]*", data) + [text.encode() for text in TEXTS]
    return _replaced(rb"[A-Za-z_][\w-]*", data, chance, lambda match: chance.choice(words))


LINES: tuple[Mutation, ...] = (line_dropped, line_doubled, lines_swapped, number_changed, text_changed, word_changed)

TOML_VALUES = (
    *(
        '""',
        '"../x"',
        "[]",
        "{}",
        "[1]",
        '["x"]',
        "true",
        "nan",
        "inf",
        "-inf",
        "-1",
        "0",
        "1.5",
        "9223372036854775808",
        "1" * 5000,
    ),
    *(
        "1979-05-27",
        "07:32:00",
        "1979-05-27T07:32:00Z",
        "'\\0'",
        '"\\u0000"',
        '"""\nx\n"""',
        "[[[[[]]]]]",
        "{a={b={c={}}}}",
        "0o17",
    ),
    *(
        "[" * 2000 + "]" * 2000,
        "{a=" * 300 + "1" + "}" * 300,
        '"\\u001b[2J"',
        '"é"',
        '["é", "\\u0000"]',
        '{"" = 1}',
        "2147483648",
    ),
)


def toml_value(data: bytes, chance: Random) -> bytes:
    """Another value behind a key."""
    new = chance.choice(TOML_VALUES).encode()
    return _replaced(rb"(?m)(?<=\s=\s)[^\n]+$", data, chance, lambda match: new)


def toml_key(data: bytes, chance: Random) -> bytes:
    """Another key, such as one with a dot, quotes or nothing in it."""
    keys = (
        b"x",
        b'""',
        b'"a b"',
        b"a.b",
        b"title",
        b"do",
        b"jobs",
        b'"\\u0000"',
        b"title.x",
        b"_",
        b"-",
        b"1",
        b'"../x"',
        b'"\xc3\xa9"',
    )
    return _replaced(rb"(?m)^[\w.\-]+(?= =)", data, chance, lambda match: chance.choice(keys))


def toml_table(data: bytes, chance: Random) -> bytes:
    """A table more."""
    names = (
        b"[x]",
        b"[[x]]",
        b"[policy]",
        b"[[policy]]",
        b"[[script]]",
        b"[fixture.jobs]",
        b"[a.b.c]",
        b"[[faults]]",
        b'[""]',
        b"[results.claim]",
    )
    begin = chance.choice([0, *(match.end() for match in re.finditer(rb"\n", data))])
    return data[:begin] + chance.choice(names) + b"\n" + data[begin:]


TOML: tuple[Mutation, ...] = (toml_value, toml_value, toml_key, toml_table)

VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        1.5,
        2**31,
        2**63 - 1,
        2**63,
        2**64,
        -(2**63) - 1,
        10**30,
        float("nan"),
        float("inf"),
        1e308,
    ),
    *([], {}, [[]], [None], {"": None}, ["x"], {"x": 1}, [1, 2], DEEP),
    *TEXTS,
)


def _places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [path, *(place for key, value in items for place in _places(value, (*path, key)))]


def _at(document: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        document = document[step]
    return document


def json_changed(data: bytes, chance: Random) -> bytes:
    """Replace, remove, rename or repeat one value of a JSON document. What is no JSON is cut."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return cut(data, chance)
    path = chance.choice(_places(document))
    if not path:
        return _written(chance.choice(VALUES), chance)
    around, key = _at(document, path[:-1]), path[-1]
    _change(
        around,
        key,
        chance.choice(("value", "value", "value", "number", "remove", "rename", "double", "borrow")),
        document,
        chance,
    )
    return _written(document, chance)


def _change(around: Any, key: Any, how: str, document: Any, chance: Random) -> None:
    if how == "remove":
        del around[key]
    elif how == "double" and isinstance(around, list):
        around.insert(chance.randrange(len(around) + 1), around[key])
    elif how == "rename" and isinstance(around, dict):
        around[str(chance.choice(TEXTS))] = around.pop(key)
    elif how == "borrow":
        around[key] = json.loads(json.dumps(_at(document, chance.choice(_places(document)))))
    elif how == "number" and isinstance(around[key], int):
        around[key] += chance.choice((-1, 1, 2, 1000, -(10**6)))
    else:
        around[key] = chance.choice(VALUES)


def _written(document: Any, chance: Random) -> bytes:
    text: bytes = json.dumps(document, indent=chance.choice((None, 2)), ensure_ascii=True).encode()
    nested: bytes = NESTED[chance.choice("[{")]
    return text.replace(json.dumps(DEEP).encode(), nested)


def key_doubled(data: bytes, chance: Random) -> bytes:
    """Give a key of the outermost object twice."""
    keys: list[bytes] = re.findall(rb'"(\w+)":', data)
    if not keys or not data.lstrip().startswith(b"{"):
        return data
    value = json.dumps(chance.choice([value for value in VALUES if value is not DEEP])).encode()
    return b'{"' + chance.choice(keys) + b'": ' + value + b"," + data.lstrip()[1:]


JSON: tuple[Mutation, ...] = (json_changed, json_changed, json_changed, json_changed, key_doubled)


def json_line(data: bytes, chance: Random) -> bytes:
    """Change the JSON of one line."""
    lines = data.split(b"\n")
    place = chance.randrange(len(lines))
    lines[place] = json_changed(lines[place], chance).replace(b"\n", b"")
    return b"\n".join(lines)
