"""From a run folder to its verdict and the files that say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from simrunner.analysis.facts import Server, shown_path
from simrunner.analysis.pipeline import FINDINGS, VERDICT_JSON, analyse, publish
from simrunner.analysis.terms import terms_document, terms_from
from simrunner.config import load_workload
from simrunner.errors import RunFolderError
from simrunner.history.digest import history_sha256
from simrunner.model.verdict import Verdict
from simrunner.model.workload import FaultSpec
from simrunner.store.folder import RunFolder
from simrunner.store.parquet import read_findings
from tests.cli.stored import sound, stored, unfenced


def test_analysing_writes_nothing(tmp_path: Path) -> None:
    folder = stored(tmp_path, unfenced(), sealed=False)
    before = sorted(folder.rglob("*"))
    assert analyse(RunFolder.open(folder)).verdict.root_cause == "fenced-writes"
    assert sorted(folder.rglob("*")) == before


def test_what_is_published_is_what_was_found(tmp_path: Path) -> None:
    folder = RunFolder.open(stored(tmp_path, unfenced()))
    analysis = analyse(folder)
    publish(folder, analysis)
    assert folder.read_json(VERDICT_JSON) == analysis.document()
    assert read_findings(folder.path / FINDINGS) == analysis.verdict.findings


def test_the_verdict_is_that_of_the_stored_history(tmp_path: Path) -> None:
    history = sound()
    analysis = analyse(RunFolder.open(stored(tmp_path, history)))
    assert analysis.verdict.verdict is Verdict.VALID
    assert analysis.history.events == history.events
    assert analysis.history_sha256 == history_sha256(history.events)
    assert analysis.document()["events"] == len(history.events)


def test_only_what_the_run_was_asked_for_counts(tmp_path: Path) -> None:
    terms = {**terms_document(load_workload("smoke")), "judges": ["claim-order"], "must_exercise": []}
    analysis = analyse(RunFolder.open(stored(tmp_path, unfenced(), terms=terms)))
    assert (analysis.verdict.verdict, analysis.verdict.root_cause) == (Verdict.VALID, None)


def test_a_fault_that_did_not_strike_is_no_pass(tmp_path: Path) -> None:
    terms = {**terms_document(load_workload("smoke")), "faults": [["kill", "before-claim", None, 1]]}
    assert analyse(RunFolder.open(stored(tmp_path, sound(), terms=terms))).verdict.verdict is Verdict.NOT_EXERCISED


def test_terms_survive_storing() -> None:
    workload = load_workload("high-depth")
    terms = terms_from(terms_document(workload))
    assert terms.judges == workload.judges
    assert terms.fault_specs() == workload.faults
    assert terms_from({**terms_document(workload), "faults": [["kill", None, "worker-a", 2]]}).fault_specs() == (
        FaultSpec("kill", None, "worker-a", 2),
    )


@pytest.mark.parametrize("document", [None, {}, [], {"title": 1}])
def test_damaged_terms_are_refused(document: object) -> None:
    with pytest.raises(RunFolderError, match="terms are damaged or missing"):
        terms_from(document)


@pytest.mark.parametrize(
    ("text", "number"),
    [("PostgreSQL 18.4 on x86_64", "18.4"), ("PostgreSQL 19beta1 (Debian)", "19beta1"), ("odd", "odd"), ("", "")],
)
def test_the_number_of_a_server(text: str, number: str) -> None:
    assert Server(18, text).number == number


def test_paths_below_the_working_directory_are_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert shown_path(tmp_path / "results/x") == "results/x"
    assert shown_path(Path("/elsewhere/x")) == "/elsewhere/x"
