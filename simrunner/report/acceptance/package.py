"""The evidence package of an acceptance: every file that a reviewer needs who was not there, named and hashed."""

from __future__ import annotations

from collections.abc import Iterator

from simrunner.history.history import History
from simrunner.model.design import Design
from simrunner.report.acceptance.acceptance import Acceptance
from simrunner.report.acceptance.commands import operation_sql, worker_commands
from simrunner.report.acceptance.courses import COURSES
from simrunner.report.acceptance.document import acceptance_markdown
from simrunner.report.acceptance.manifest import EVIDENCE, write_manifest
from simrunner.report.acceptance.page import html_page
from simrunner.report.acceptance.results import Experiment
from simrunner.report.acceptance.tables import TABLES, whole_table
from simrunner.report.acceptance.texts import experiment_text
from simrunner.store import files
from simrunner.store.folder import RunFolder

REPORT_MD, REPORT_HTML = "acceptance.md", "acceptance.html"

_MEANINGS = {
    "claims.csv": "every committed claim, where its transaction completed included",
    "completions.csv": "every completion that was sent, accepted or refused",
    "recoveries.csv": "every recovery with the expired lease, and who claimed the job again",
    "job-events.csv": "every committed change of a job, read from the database after each transaction",
    "final-jobs.csv": "the jobs as they were in the database at the end: necessary, never sufficient",
}


def write_package(folder: RunFolder, acceptance: Acceptance, design: Design) -> Acceptance:
    """Write all evidence and the manifest; returns the acceptance with its files. Raises RecordingFailed."""
    texts = {name: (meaning, text) for name, meaning, text in _files(acceptance, design)}
    reports = ((REPORT_MD, "this report"), (REPORT_HTML, "the same as one page"))
    whole = acceptance.with_evidence([*((name, meaning) for name, (meaning, _) in texts.items()), *reports])
    markdown = acceptance_markdown(whole)
    contents = {name: text for name, (_, text) in texts.items()}
    contents |= {REPORT_MD: markdown, REPORT_HTML: html_page(markdown, f"Acceptance of {acceptance.design}")}
    place = folder.path / EVIDENCE
    with files.recording(place):
        place.mkdir(exist_ok=True)
    for name, text in contents.items():
        files.write_bytes(place / name, text.encode(), durable=True)
    write_manifest(folder, whole)
    return whole


def _files(acceptance: Acceptance, design: Design) -> Iterator[tuple[str, str, str]]:
    """Yield name, meaning and content of each file but the reports and the manifest."""
    for name, source in design.operations.items():
        yield f"{name}.sql", f"the design's {name}, as written and as sent", operation_sql(source)
    yield "worker-commands.txt", "how each run is made again, and what workers send", worker_commands(design, acceptance)
    runs = [run for experiment in acceptance.experiments for run in _histories(experiment)]
    for table in TABLES:
        yield table.file, _MEANINGS[table.file], whole_table(table, runs)
    yield from _courses(acceptance)
    for experiment in acceptance.experiments:
        yield _text_file(experiment), f"{experiment.name}, each run step by step or in figures", experiment_text(experiment)


def _text_file(experiment: Experiment) -> str:
    """An experiment whose own file is a table has its text beside it."""
    file = experiment.part.file
    return f"experiment-{experiment.name}.txt" if file.endswith(".csv") else file


def _courses(acceptance: Acceptance) -> Iterator[tuple[str, str, str]]:
    for table in COURSES.values():
        of_it = [experiment for experiment in acceptance.experiments if experiment.part.file == table.file]
        if of_it:
            runs = [run for experiment in of_it for run in _histories(experiment)]
            yield table.file, f"the course of {', '.join(one.name for one in of_it)} as a table", whole_table(table, runs)


def _histories(experiment: Experiment) -> Iterator[tuple[str, str, History]]:
    for result in experiment.results:
        if result.analysis is not None:
            yield result.part.name, result.part.design, result.analysis.history
