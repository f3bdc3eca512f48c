"""Exported cases, run by what they are for: isolationtester, pytest in a process without simrunner, psql."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from simrunner.errors import InputError
from simrunner.runtime.account import cache_folder, server_account
from simrunner.runtime.binaries import binaries
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.database import create
from simrunner.search.export.forms import first_form
from simrunner.search.export.psql import psql_text
from simrunner.search.export.pytest_file import pytest_text
from simrunner.search.export.script import Script, Step, Symptom
from simrunner.search.export.script_of import script_of
from simrunner.search.export.spec import spec_text
from simrunner.search.play import begin_part, play
from simrunner.search.request import prepare
from simrunner.spec.parser import parse
from simrunner.store.folder import RunFolder
from simrunner.strategies.deviating import HOLD, Deviating, Deviation
from tests.runtime.runs import QUIET, STARTED
from tests.search.psql import Desk

SMALL = {"actors.workers": "2", "safety.rounds": "1", "fixture.jobs": "2", "liveness.rounds": "7"}

CASES = {
    "select-then-update": ("smoke", {**SMALL, "faults.0.crash_point": "before-recover"}),
    "naive-subquery": ("smoke", {**SMALL, "faults.0.crash_point": "before-recover"}),
    "claim-outside-order": ("smoke", SMALL),
    "no-recovery": ("smoke", SMALL),
    "unfenced-completion": ("smoke", {**SMALL, "actors.ghost_operations": "complete"}),
}
"""Mutant -> a workload and settings with which round-robin violates it."""
MENDED = {
    "select-then-update": ("AND completed_at IS NULL", "AND state = 'ready'"),
    "claim-outside-order": (
        "priority DESC, available_at DESC, created_at DESC, id DESC",
        "priority DESC, available_at, created_at, id",
    ),
    "unfenced-completion": (
        "\nRETURNING id, attempts, completed_at",
        "\n  AND state = 'claimed'\nRETURNING id, attempts, completed_at",
    ),
}


@pytest.fixture(scope="session")
def scripts(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Script]:
    """The script of one violating run of each mutant."""
    return {mutant: script(mutant, cluster, tmp_path_factory.mktemp("runs") / "run") for mutant in CASES}


def script(mutant: str, cluster: Cluster, path: Path) -> Script:
    workload, settings = CASES[mutant]
    request = prepare(workload, f"mutants/{mutant}", settings, seed=1, mode="stepped", strategy="round-robin")
    with begin_part(replace(request, coalesce=True), cluster, path, STARTED) as folder:
        play(replace(request, coalesce=True), folder, cluster, QUIET)
    return script_of(RunFolder.open(path))


def isolationtester(major: int) -> Path:
    """The one of PostgreSQL, which the packages of the embedded server carry."""
    folder = binaries(major, server_account(), cache_folder()).parent
    return folder / "lib/postgresql/pgxs/src/test/isolation/isolationtester"


def isolated(cluster: Cluster, text: str) -> str:
    """What isolationtester prints of a spec."""
    command = [str(isolationtester(cluster.major))]
    with create(cluster, "isolation") as database:
        command.append(cluster.conninfo(database.name))
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("mutant", CASES)
def test_isolationtester_shows_the_violation(cluster: Cluster, scripts: dict[str, Script], mutant: str) -> None:
    text = spec_text(scripts[mutant])
    printed = isolated(cluster, text)
    last = printed.rpartition("observer VIOLATED: ")[2]
    assert "(1 row)" in last
    assert "invalid permutation" not in printed
    assert printed.count("<waiting ...>") == text.count("# BLOCKED by")


@pytest.mark.parametrize("mutant", CASES)
def test_our_own_parser_reads_the_spec(scripts: dict[str, Script], mutant: str) -> None:
    spec = parse(spec_text(scripts[mutant]), "case.spec")
    assert len(spec.permutations) == 1
    assert sum(len(session.steps) for session in spec.sessions) == len(spec.permutations[0])


def test_the_pytest_files_fail(cluster: Cluster, scripts: dict[str, Script], tmp_path: Path) -> None:
    texts = {mutant: pytest_text(scripts[mutant]) for mutant in CASES}
    assert all("import simrunner" not in text for text in texts.values())
    out = run_pytest(cluster, texts, tmp_path)
    assert f"{len(CASES)} failed" in out
    assert out.count("AssertionError: ") >= len(CASES)


def test_the_pytest_files_pass_when_they_are_mended(cluster: Cluster, scripts: dict[str, Script], tmp_path: Path) -> None:
    texts = {mutant: pytest_text(scripts[mutant]) for mutant in MENDED}
    assert all(MENDED[mutant][0] in text for mutant, text in texts.items())
    out = run_pytest(cluster, {mutant: text.replace(*MENDED[mutant]) for mutant, text in texts.items()}, tmp_path)
    assert f"{len(MENDED)} passed" in out


def run_pytest(cluster: Cluster, texts: dict[str, str], folder: Path) -> str:
    """Run cases with pytest in a process of its own. Returns what it printed."""
    for mutant, text in texts.items():
        (folder / f"test_{mutant.replace('-', '_')}.py").write_text(text)
    with create(cluster, "pytest") as database:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
            cwd=folder,
            env={**os.environ, "CASE_DSN": cluster.conninfo(database.name)},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    return done.stdout


@pytest.mark.parametrize("mutant", CASES)
def test_psql_shows_the_violation(cluster: Cluster, scripts: dict[str, Script], mutant: str) -> None:
    psql = binaries(cluster.major, server_account(), cache_folder()) / "psql"
    with create(cluster, "psql") as database, closing(Desk(psql, cluster.conninfo(database.name))) as desk:
        said = desk.play(psql_text(scripts[mutant]))
    assert said[-1] == "(1 row)"
    assert not [line for terminal in desk.terminals.values() for line in terminal.lines if "ERROR" in line]


def test_an_exported_case_waits_where_the_run_waited(scripts: dict[str, Script]) -> None:
    (step,) = [step for step in scripts["naive-subquery"].steps if step.blocked_by is not None]
    assert (step.session, step.title, step.blocked_by) == ("worker-b.1", "claim", "worker-a")


def test_what_a_statement_takes_from_the_one_before_is_fed(scripts: dict[str, Script]) -> None:
    fed = [step for step in scripts["select-then-update"].steps if step.fed]
    assert [dict(step.fed) for step in fed] == [{":'job_id'": "'1'"}] * len(fed)
    assert fed
    text = psql_text(scripts["select-then-update"])
    assert text.count("\\gset") == len(fed)


def test_a_claim_that_found_nothing_is_told_with_the_job_that_it_looked_for(cluster: Cluster, tmp_path: Path) -> None:
    """A spec feeds no row to the next statement, so the job stands there; nobody looks at the end, so there is no observer."""
    settings = {"actors.workers": "2", "fixture.jobs": "2"}
    request = prepare("smoke", "mutants/select-then-update", settings, seed=1, mode="stepped", strategy="round-robin")
    put_off = Deviating([Deviation(HOLD, round=1, place=2, actor="worker-a")])
    with begin_part(request, cluster, tmp_path / "run", STARTED) as folder:
        play(replace(request, coalesce=True, decider=put_off), folder, cluster, QUIET)
    found = script_of(RunFolder.open(tmp_path / "run"))
    text = spec_text(found)
    assert found.symptom.sql is None
    assert text.count("WHERE id = '1'\n  AND completed_at IS NULL") == 2
    assert "NULL\nRETURNING" in text
    assert "= NULL\n  AND" not in text
    parse(text, "case.spec")
    assert isolated(cluster, text).rpartition("claim 2: ")[2].count("(0 rows)") == 1


def by_hand(*steps: Step) -> Script:
    return Script("t", "i", "p", "e", (), "read committed", (("s", "SELECT 1;"),), ("worker-a.1",), steps, Symptom("SELECT 1"))


def test_no_spec_for_a_kill_while_a_statement_waits() -> None:
    killed = by_hand(Step(1, "worker-a.1", "KILLED", None, in_transaction=True, blocked_by="worker-b"))
    with pytest.raises(InputError, match="killed while its statement waits"):
        spec_text(killed)
    assert first_form(killed) == "pytest"


def test_no_spec_for_sql_with_a_brace() -> None:
    with pytest.raises(InputError, match="closing brace"):
        spec_text(by_hand(Step(1, "worker-a.1", "claim", "SELECT '{}'::int[]")))


def test_a_spec_ends_what_is_open_the_holder_first() -> None:
    text = spec_text(
        by_hand(
            Step(1, "worker-b.1", "claim", "SELECT 1", begins_at="2026-01-01", blocked_by="worker-a"),
            Step(2, "worker-a.1", "claim", "SELECT 1", begins_at="2026-01-01"),
        )
    )
    permutation = text.partition("permutation\n")[2].split("\n")
    assert [line.strip() for line in permutation if "end" in line] == ['"4 worker-a.1 end"', '"5 worker-b.1 end"']
