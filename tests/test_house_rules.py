"""The house rules as tests: sizes, docstrings, what may decide, what a forking process may load, no traces of a machine."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PYTHON_FILES = sorted(path for folder in ("simrunner", "tests") for path in (ROOT / folder).rglob("*.py"))
SOURCES = [path for path in PYTHON_FILES if path.is_relative_to(ROOT / "simrunner")]

FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 600

BANNED = {
    "time": {"time", "time_ns"},
    "datetime": {"now", "utcnow", "today"},
    "uuid": {"uuid1", "uuid4"},
    "os": {"urandom", "getrandom"},
    "random": {"random", "randint", "randrange", "choice", "choices", "shuffle", "sample", "uniform", "seed", "getrandbits"},
    "secrets": {"token_hex", "token_bytes", "token_urlsafe", "randbelow", "choice"},
}
"""Wall clock and unseeded chance: a run that used them could not be replayed."""

ALLOWED = {
    "simrunner/runtime/recorder.py: time.time_ns": "the column wall_time, which is never hashed and never judged",
    "simrunner/cli/accepting.py: datetime.now": "the start of an acceptance and of its runs, as of any run",
    "simrunner/cli/shrinking.py: datetime.now": "the start of the shrunk run, as of any run",
    "simrunner/cli/campaigning.py: datetime.now": "the start of the campaign, which names its folder and decides nothing",
    "simrunner/cli/playing.py: datetime.now": "the start of the run, which names its folder and decides nothing",
}
"""The whole list of exceptions, each with its reason."""

FORKING = (
    "simrunner.runtime",
    "simrunner.store.journal",
    "simrunner.store.folder",
    "simrunner.store.tape",
    "simrunner.store.final",
    "simrunner.cli.accepting",
    "simrunner.report.acceptance.plan",
)
"""What the coordinator loads before it forks. The threads of these libraries would not survive the fork."""

MACHINE_PATHS = tuple("/" + name + "/" for name in ("work", "root", "home", "Users")) + ("/tmp" + "/",)


def name_of(path: Path) -> str:
    """Return a path as it is shown."""
    return path.relative_to(ROOT).as_posix()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def test_there_is_something_to_check() -> None:
    assert len(SOURCES) > 20


@pytest.mark.parametrize("path", PYTHON_FILES, ids=name_of)
def test_module(path: Path) -> None:
    """Every module that is not empty says what it is, and fits one idea."""
    assert ast.get_docstring(tree_of(path)) or not tree_of(path).body, "has no docstring"
    assert path.read_text().count("\n") <= FILE_LINES_MAX
    assert list(long_functions(tree_of(path))) == []


def long_functions(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
            if lines > FUNCTION_LINES_MAX:
                yield f"{node.name} at line {node.lineno}: {lines} lines"


def test_nothing_decides_by_wall_clock_or_unseeded_chance() -> None:
    found = {f"{name_of(path)}: {call}" for path in SOURCES for call in banned_calls(tree_of(path))}
    assert sorted(found - ALLOWED.keys()) == []


def banned_calls(tree: ast.Module) -> Iterator[str]:
    """Yield uses such as `time.time`, however the function was imported; `datetime.datetime.now` as `datetime.now`."""
    imported = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in BANNED
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
            module = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
            if node.attr in BANNED.get("datetime" if module == "date" else module, ()):
                yield f"{module}.{node.attr}"
        elif isinstance(node, ast.Name) and node.id in imported:
            module, name = imported[node.id]
            if name in BANNED[module]:
                yield f"{module}.{name}"


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import time\ntime.time()", ["time.time"]),
        ("from time import time_ns as now\nnow()", ["time.time_ns"]),
        ("from datetime import datetime\ndatetime.now(UTC)", ["datetime.now"]),
        ("import datetime\ndatetime.datetime.now()", ["datetime.now"]),
        ("from datetime import date\ndate.today()", ["date.today"]),
        ("import random\nf(key=random.random)", ["random.random"]),
        ("from uuid import uuid4\nuuid4()", ["uuid.uuid4"]),
        ("import random\nrandom.Random(7).random()", []),
        ("from time import monotonic\nmonotonic()", []),
        ("from datetime import datetime\ndatetime.fromtimestamp(0)", []),
    ],
)
def test_banned_calls_are_recognised(code: str, found: list[str]) -> None:
    assert list(banned_calls(ast.parse(code))) == found


def test_forking_processes_load_no_thread_pools() -> None:
    code = f"""
import importlib, pkgutil, sys
for name in {FORKING!r}:
    module = importlib.import_module(name)
    for found in pkgutil.walk_packages(getattr(module, "__path__", []), name + "."):
        importlib.import_module(found.name)
    loaded = {{"numpy", "pandas", "pyarrow"}} & set(sys.modules)
    assert not loaded, f"{{name}} loads {{loaded}}"
"""
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def ours() -> Iterator[Path]:
    """Yield every file of the project: not the results, the virtual environment or caches."""
    yield from (path for path in ROOT.iterdir() if path.is_file() and path.name != ".coverage")
    for folder in ("simrunner", "tests", "docs", "sql", "workloads", ".ci"):
        yield from (path for path in (ROOT / folder).rglob("*") if path.is_file() and path.suffix != ".pyc")


def test_no_paths_of_a_machine() -> None:
    lines = (
        f"{name_of(path)}:{number}: {line.strip()}"
        for path in ours()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if any(part in line for part in MACHINE_PATHS)
    )
    assert sorted(lines) == []
