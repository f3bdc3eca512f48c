"""From a run folder to its verdict, from the folder alone: load, judge, certify, and the files that say so."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simrunner.analysis.certificate import certify
from simrunner.analysis.document import verdict_document
from simrunner.analysis.facts import Facts, facts_from, replay_line
from simrunner.analysis.judge import judge
from simrunner.analysis.terms import Terms, terms_from
from simrunner.history.digest import history_sha256
from simrunner.history.history import History
from simrunner.model.verdict import RunVerdict
from simrunner.store.folder import RunFolder
from simrunner.store.parquet import write_findings
from simrunner.store.reader import load

VERDICT_JSON = "verdict.json"
FINDINGS = "findings.parquet"


@dataclass(frozen=True, slots=True)
class Analysis:
    """A judged run."""

    path: Path
    facts: Facts
    status: str
    """complete, failed or interrupted."""
    terms: Terms
    history: History
    verdict: RunVerdict
    history_sha256: str
    replay: str
    """The command line that repeats the run."""

    def document(self) -> dict[str, Any]:
        """Return `verdict.json` as JSON values."""
        return verdict_document(
            self.verdict,
            self.history.context,
            design=self.facts.design,
            workload=self.facts.workload,
            seed=self.facts.seed,
            postgres=self.facts.postgres.number,
            history_sha256=self.history_sha256,
            events=len(self.history.events),
            replay=self.replay,
        )


def analyse(folder: RunFolder) -> Analysis:
    """Judge a run that has ended. Reads only. Raises RunFolderError for a damaged folder or one of a newer schema."""
    run = folder.run()
    facts, terms = facts_from(run, folder.path), terms_from(run.get("terms"))
    history = History(*load(folder))
    lines = certify(history, workers=terms.workers, faults=terms.fault_specs(), min_backlog=terms.min_backlog)
    verdict = judge(history, terms.judges, terms.must_exercise, lines)
    digest = history_sha256(history.events)
    return Analysis(folder.path, facts, folder.status(), terms, history, verdict, digest, replay_line(folder.path, facts))


def publish(folder: RunFolder, analysis: Analysis) -> None:
    """Write verdict.json and findings.parquet. Raises RecordingFailed."""
    write_findings(folder.path / FINDINGS, analysis.verdict.findings)
    folder.write_json(VERDICT_JSON, analysis.document())
