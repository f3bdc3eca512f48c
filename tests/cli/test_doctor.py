"""`simrunner doctor`: what it prints and how it ends."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simrunner.runtime.cluster import Cluster
from simrunner.runtime.doctor.contract import Surroundings, outside_contract
from tests.cli.invoking import invoke, program
from tests.runtime.runs import ROOT, design_folder
from tests.runtime.test_bad_designs import changed

PAGE = (ROOT / "docs/cli.md").read_text()


def document(*words: str | Path, code: int) -> dict[str, Any]:
    result = invoke("doctor", *words, "--json")
    assert result.exit_code == code
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_a_good_design_on_a_sound_machine(tmp_path: Path) -> None:
    ended = program("doctor", "--design", "reference", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines()[-1] in ("Nothing found.", "1 hint.", "2 hints.")  # leftovers of other commands
    assert "PostgreSQL 18." in ended.out
    assert list(tmp_path.iterdir()) == []


def test_a_warning_is_shown_with_place_meaning_and_remedy() -> None:
    result = invoke("doctor", "--design", "mutants/unfenced-completion")
    assert result.exit_code == 0
    assert "warning   unfenced-write  sql/mutants/unfenced-completion/complete.sql:2" in result.stdout
    assert "  means  complete checks neither owner nor token" in result.stdout
    assert "  do     add the owner and the token" in result.stdout


def test_a_design_that_the_server_refuses(tmp_path: Path) -> None:
    folder = design_folder(tmp_path, changed("claim", ("priority DESC", "urgency DESC")))
    found = document("--design", folder, code=2)
    first = found["remarks"][0]
    assert list(first) == ["level", "name", "place", "message", "remedy"]
    assert (first["level"], first["name"]) == ("error", "statement-refused")
    assert first["place"].endswith("claim.sql:8")
    assert "urgency" in first["message"]


@pytest.mark.parametrize("design", ["refrence", "bad"])
def test_a_design_that_cannot_be_read(tmp_path: Path, design: str) -> None:
    folder = design_folder(tmp_path, {}, "nonsense = 1\n")
    remarks = document("--design", folder if design == "bad" else design, code=2)["remarks"]
    assert "design-unreadable" in [remark["name"] for remark in remarks]


def test_a_server_that_cannot_be_reached_outweighs_a_bad_design() -> None:
    found = document("--dsn", "host=/nowhere user=u password=hunter2", "--design", "refrence", code=4)
    assert {remark["name"] for remark in found["remarks"]} == {"server-fails", "design-unreadable"}
    assert "hunter2" not in json.dumps(found)


@pytest.mark.parametrize("words", [("--dsn", "x", "--postgres", "16"), ("--dsn", "hunter2"), ("--postgres", "15"), ("surplus",)])
def test_bad_usage(words: tuple[str, ...]) -> None:
    result = invoke("doctor", *words)
    assert result.exit_code == 2
    assert "hunter2" not in result.output


def test_every_remark_is_explained() -> None:
    """Each name that the code gives to a remark stands in the page's table, and no other."""
    folders = (ROOT / "simrunner/review", ROOT / "simrunner/runtime/doctor")
    files = [*(path for folder in folders for path in folder.glob("*.py")), ROOT / "simrunner/cli/doctor.py"]
    files.append(ROOT / "simrunner/runtime/setup.py")
    given = {name for path in files for name in names_given(ast.parse(path.read_text()))}
    own = Cluster(18, "", False, False, {}, embedded=False, named="x")
    given |= {remark.name for remark in outside_contract(own, Surroundings("on", "1s", "en_US", 1))}
    given |= {f"{noun}-{what}" for noun in ("results", "cache") for what in ("folder", "space")}
    rows = re.findall(r"^\| (`.*?) \| (?:error|warning|hint)", PAGE, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`([a-z-]+)`", row)} == given


def names_given(tree: ast.Module) -> Iterator[str]:
    """Yield the literal names in calls of Remark (second argument), _Rule, Objection and _refused (first)."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.args:
            name = call.args[1 if call.func.id == "Remark" else 0]
            if call.func.id in ("Remark", "_Rule", "Objection", "_refused") and isinstance(name, ast.Constant):
                yield str(name.value)
