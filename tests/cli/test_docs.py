"""docs/cli.md shows each command's help as it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simrunner import errors
from simrunner.cli import main
from tests.cli.invoking import invoke

PAGE = (Path(__file__).parents[2] / "docs/cli.md").read_text()


@pytest.mark.parametrize("name", ["", *main.commands])
def test_help_is_what_the_page_shows(name: str) -> None:
    shown = invoke(*name.split(), "--help").stdout.rstrip()
    assert f"```\n{shown}\n```" in PAGE


def test_every_exit_code_is_explained() -> None:
    codes = {error.exit_code for error in vars(errors).values() if isinstance(error, type) and hasattr(error, "exit_code")}
    explained = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)}
    assert explained == codes | {0, 1}
