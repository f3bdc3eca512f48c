"""The text of an experiment for the evidence: each of its runs step by step, or in figures, with how long each job waited."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from simrunner.analysis.names import fill_names, job_name
from simrunner.analysis.pipeline import Analysis
from simrunner.model.verdict import InvariantVerdict, Verdict
from simrunner.report.acceptance.figures import figures
from simrunner.report.acceptance.results import Experiment, Result
from simrunner.report.acceptance.sentences import sentences
from simrunner.report.acceptance.waits import longest_waits, waits_of
from simrunner.report.acceptance.wording import role_in_words


def experiment_text(experiment: Experiment) -> str:
    """Return the course of all runs of an experiment as plain text."""
    lines = [f"{experiment.name}: {experiment.part.title}", f"verdict: {experiment.word}"]
    for result in experiment.results:
        lines += ["", "", *_run(result)]
    return "\n".join(lines) + "\n"


def _run(result: Result) -> Iterator[str]:
    part = result.part
    heading = f"{part.name} ({role_in_words(part)}, design {part.design}, {part.mode})"
    yield heading
    yield "-" * len(heading)
    if result.analysis is None:
        yield f"{result.word}: {_absent(result)}"
        return
    yield f"verdict {result.analysis.verdict.verdict}, read here as {result.word}"
    yield from _script(result.analysis)
    yield from ("", *figures(result.analysis.history), *unpromised(result.analysis))
    yield from _findings(result.analysis)
    yield from _waits(result.analysis)


def _absent(result: Result) -> str:
    if result.part.missing:
        return f"the design has no {', '.join(result.part.missing)}"
    return result.damage or "there is no run"


def _script(analysis: Analysis) -> Iterator[str]:
    """The steps with what the workload says of them, what was observed, and any plan."""
    if analysis.history.context.script:
        yield ""
    for action, text in zip(analysis.history.actions, sentences(analysis.history), strict=True):
        yield f"{action.number:>3}  {text}"
        if action.step.says:
            yield f"     shows: {action.step.says}"
        if action.report is not None and action.report.note:
            yield from (f"       {line}" for line in action.report.note.splitlines())


def _findings(analysis: Analysis) -> Iterator[str]:
    """What was violated, first findings; a script has no liveness phase, so of it only what is judged is told."""
    for row in analysis.verdict.invariants:
        if row.verdict is Verdict.VIOLATED and row.first is not None and (row.judged or not analysis.history.context.script):
            yield ""
            yield f"violated: {row.name}{'' if row.judged else ' (not judged here)'}, {occasions(row)}; first:"
            yield f"  event {row.first.seq}: {fill_names(row.first.explanation, analysis.history.context)}"


def unpromised(analysis: Analysis) -> Iterator[str]:
    """Of what the workload is there to exercise, what the design does not promise, with the figures all the same."""
    for row in analysis.verdict.invariants:
        if row.verdict is Verdict.NOT_PROMISED and row.name in analysis.terms.must_exercise:
            yield f"{row.name} is not promised by this design here: {occasions(row)} would have broken it."


def occasions(row: InvariantVerdict) -> str:
    """Return how often an invariant was violated, of how many occasions."""
    return f"{row.violations} of {row.opportunities} occasions"


def _waits(analysis: Analysis) -> Iterator[str]:
    """Of each job of the cohort the longest stay: totals can look healthy beside a stranded job."""
    history = analysis.history
    waits = longest_waits(waits_of(history))
    if not waits or history.context.script:
        return
    yield from ("", "longest stay of each job of the cohort (virtual ms; claims of other jobs meanwhile, of newer ones):", "")
    rows: list[Sequence[str]] = [("job", "rank", "waited_ms", "passed", "newer", "ended")]
    for wait in waits:
        ended = wait.end.to_state or "gone" if wait.end is not None else "still ready"
        rank = "" if wait.entry.rank is None else str(wait.entry.rank)
        rows.append(
            (job_name(history.context, wait.job) or "", rank, *map(str, (wait.waited_ms, wait.passed, wait.newer)), ended)
        )
    yield from _columns(rows)


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
