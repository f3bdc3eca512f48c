"""What the documentation tells people to type exists: make targets, simrunner commands and their options, links."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "results/README.md", *sorted((ROOT / "docs").glob("*.md"))]
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def code_lines(text: str) -> Iterator[str]:
    """Yield the lines of code blocks and the code spans of a page."""
    for part in re.findall(r"^```.*?^```|`[^`\n]+`", text, re.MULTILINE | re.DOTALL):
        yield from part.strip("`").splitlines()


def commands(program: str) -> list[tuple[str, str]]:
    """Return (page, the rest of the line) of every line of code that calls the program."""
    called = re.compile(rf"^\s*(?:\$ )?{program} (.+)")
    return [
        (page.name, match.group(1)) for page in PAGES for line in code_lines(page.read_text()) if (match := called.match(line))
    ]


def test_code_lines_finds_blocks_and_spans() -> None:
    page = "Type `make a` or\n\n```sh\nmake b\n$ make c\n```\n\nmake d"
    assert list(code_lines(page)) == ["make a", "sh", "make b", "$ make c"]


def test_every_documented_make_target_exists() -> None:
    documented = commands("make")
    assert documented
    assert [(page, line) for page, line in documented if line.split()[0] not in TARGETS] == []


def test_every_make_target_is_explained() -> None:
    text = (ROOT / "Makefile").read_text()
    assert set(re.findall(r"^([a-z]+):.*##", text, re.MULTILINE)) == TARGETS


def test_every_documented_command_and_option_exists() -> None:
    main = importlib.import_module("simrunner.cli").main
    missing = []
    for page, line in commands("simrunner"):
        name, *words = re.sub(r"[\[\]{}|,]", " ", line.partition("#")[0]).split()
        command = main.commands.get(name)
        known = {"--help"} | {option for parameter in command.params for option in parameter.opts} if command else set()
        missing += [(page, line, word) for word in words if word.startswith("--") and word.partition("=")[0] not in known]
        missing += [] if command else [(page, line, name)]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []
