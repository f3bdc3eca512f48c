"""`simrunner spec` as a program: what goes where, and how it ends."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simrunner.runtime.cluster import Cluster
from simrunner.runtime.isolation.run import run_spec
from simrunner.spec.plan import plan_of
from tests.cli.invoking import invoke, program

HERE = Path(__file__).parent
PAGE = (HERE.parents[1] / "docs/spec.md").read_text()


def test_the_output_is_on_standard_output_and_nothing_else_anywhere() -> None:
    ended = program("spec", "specs/sessions.spec", cwd=HERE)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == (HERE / "expected/sessions.out").read_text()


def test_an_older_server_has_its_own_results(tmp_path: Path) -> None:
    (tmp_path / "v.spec").write_text("session s step a { SELECT current_setting('server_version_num')::int / 10000 AS major; }")
    ended = program("spec", "v.spec", "--postgres", "16", cwd=tmp_path)
    assert ended.code == 0
    assert ended.out.endswith("major\n-----\n   16\n(1 row)\n\n")


def test_a_setup_that_fails_ends_with_code_2(tmp_path: Path) -> None:
    (tmp_path / "bad.spec").write_text("setup { SELECT none; }\nsession s step a { }")
    ended = program("spec", "bad.spec", cwd=tmp_path)
    assert ended.code == 2
    assert ended.out.startswith(
        'Parsed test spec with 1 sessions\n\nstarting permutation: a\nsetup failed: ERROR:  column "none" does not'
    )
    assert ended.err.startswith('Error: bad.spec:1:7: setup failed: ERROR:  column "none" does not exist\n')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("session s step a { } permutation b", "1:34: the permutation names the step b, which no session has"),
        ("session s step a SELECT", "1:18: expected a { sql } block, found the name SELECT"),
    ],
)
def test_a_mistake_ends_with_code_2_and_its_place(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "f.spec"
    path.write_text(text)
    result = invoke("spec", path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"Error: {path}:{said}\n"


def test_a_file_that_is_not_there_ends_with_code_2() -> None:
    result = invoke("spec", "nowhere.spec")
    assert (result.exit_code, result.stderr) == (2, "Error: nowhere.spec: cannot be read: No such file or directory\n")


def test_a_version_belongs_to_the_embedded_server() -> None:
    result = invoke("spec", HERE / "specs/notify.spec", "--dsn", "host=x", "--postgres", "16")
    assert result.exit_code == 2
    assert "--postgres chooses the embedded server" in result.stderr


def test_the_example_of_the_page_shows_what_the_page_says(cluster: Cluster) -> None:
    example = re.findall(r"^```\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[0]
    written = bytearray()
    run_spec(plan_of(example, "example.spec", "example"), cluster, written.extend)
    passes, waits = written.decode().split("\nstarting permutation: ")[1:]
    assert "step look: SELECT id FROM job ORDER BY id FOR UPDATE SKIP LOCKED;\nid\n--\n 2\n(1 row)" in passes
    assert waits.index("FOR UPDATE; <waiting ...>\n") < waits.index(
        "step done: COMMIT;\nstep wait: <... completed>\nid\n--\n 1\n"
    )
