"""The end of an acceptance, just played or stored: its evidence, its verdict.json, what is shown, how the command ends."""

from __future__ import annotations

from collections.abc import Sequence

from simrunner.analysis.facts import Server
from simrunner.analysis.pipeline import VERDICT_JSON
from simrunner.cli.output import say_json, say_page
from simrunner.model.design import Design
from simrunner.report.acceptance.acceptance import Acceptance, read_acceptance
from simrunner.report.acceptance.gate import EXIT_CODE
from simrunner.report.acceptance.manifest import read_manifest, verify
from simrunner.report.acceptance.package import write_package
from simrunner.report.acceptance.summary import summary_page
from simrunner.report.acceptance.verdict import acceptance_document
from simrunner.store.folder import RunFolder

NOT_INTACT = 3
"""Exit code of `analyze` when the evidence is not what the acceptance wrote."""


def write(folder: RunFolder, design: Design) -> Acceptance:
    """Judge the runs of an acceptance that was just played and write its evidence and verdict.json."""
    acceptance = write_package(folder, read_acceptance(folder), design)
    folder.write_json(VERDICT_JSON, _document(acceptance))
    return acceptance


def decide_again(folder: RunFolder, *, as_json: bool) -> int:
    """Compare the evidence of a stored acceptance with its manifest and decide again from the stored runs."""
    problems = list(verify(folder))
    manifest = read_manifest(folder)
    acceptance = read_acceptance(folder).with_evidence([(name, "") for name in manifest.files], problems)
    if manifest.decision not in (None, acceptance.decision.word):
        problems.append(f"the acceptance decided {manifest.decision}, but its stored runs say {acceptance.decision.word}")
    return conclude(folder, acceptance, problems, as_json=as_json)


def conclude(folder: RunFolder, acceptance: Acceptance, problems: Sequence[str], *, as_json: bool) -> int:
    """Show an acceptance and return the exit code that it means; with problems of its evidence, that of `unknown`."""
    if as_json:
        also = {"status": folder.status(), "folder": str(folder.path), "evidence_problems": list(problems)}
        say_json({**_document(acceptance), **also})
    else:
        say_page(summary_page(acceptance, problems))
    return NOT_INTACT if problems else EXIT_CODE[acceptance.decision.word]


def _document(acceptance: Acceptance) -> dict[str, object]:
    return acceptance_document(acceptance, Server(0, acceptance.postgres).number)
