"""acceptance.md: what was asked, what was seen, the gate and the decision. A pure function of the acceptance.

A line that may differ between two acceptances of one design and seed ends with `(observational)`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from simrunner.analysis.names import fill_names
from simrunner.analysis.pipeline import Analysis
from simrunner.history.history import History
from simrunner.model.verdict import InvariantVerdict, Verdict
from simrunner.report.acceptance.acceptance import Acceptance
from simrunner.report.acceptance.figures import figures
from simrunner.report.acceptance.gate import DecisionWord, Line, Status, promised_by, tally_all
from simrunner.report.acceptance.plan import CONTROL, MAIN, Part
from simrunner.report.acceptance.plans import plan_in_words
from simrunner.report.acceptance.playbook import ROUNDS
from simrunner.report.acceptance.results import Experiment, Result, Word
from simrunner.report.acceptance.sentences import sentence
from simrunner.report.acceptance.texts import occasions, unpromised
from simrunner.report.acceptance.wording import (
    BOUNDARY,
    LABELS,
    MANUAL,
    MANUAL_READ,
    NOT_ESTABLISHED,
    NOT_PROVEN,
    OBSERVATIONAL,
    prose,
    role_in_words,
)


def acceptance_markdown(acceptance: Acceptance) -> str:
    """Return the report as Markdown, ended by a line feed."""
    parts = (
        _head(acceptance),
        _boundary(),
        _summary(acceptance.experiments),
        *(_experiment(experiment) for experiment in acceptance.experiments),
        _not_established(acceptance.experiments),
        _gate(acceptance.lines),
        _decision(acceptance),
        _package(acceptance),
    )
    return "\n".join(line for part in parts for line in (*part, ""))


def _head(acceptance: Acceptance) -> Iterator[str]:
    decision = acceptance.decision
    yield f"# Acceptance of {acceptance.design}: {decision.word}"
    yield ""
    yield f"**{decision.word}** {_in_a_sentence(acceptance)}"
    yield ""
    yield f"- design: `{acceptance.design}`, sha256 `{acceptance.design_sha256}`"
    yield f"- seed: {acceptance.seed}; simrunner {acceptance.simrunner}"
    yield f"- server that ran: {acceptance.postgres}{OBSERVATIONAL}"
    yield f"- started: {acceptance.started}{OBSERVATIONAL}"
    yield f"- again: `{acceptance.again}`"


def _in_a_sentence(acceptance: Acceptance) -> str:
    decision, words = acceptance.decision, Counter(one.word for one in acceptance.experiments)
    told = ", ".join(f"{words[word]} {word.lower()}" for word in Word if words[word])
    counted = f"{len(acceptance.experiments)} experiments: {told}."
    if decision.word is DecisionWord.ACCEPTED:
        return f"{counted} Nothing that the design promises was violated, and nothing was left open."
    if decision.word is DecisionWord.REJECTED:
        return f"{counted} The design violated what it promises: {', '.join(f'`{name}`' for name, _ in decision.violated)}."
    return f"{counted} Nothing that the design promises was seen violated, but something was left open."


def _boundary() -> Iterator[str]:
    yield "## Boundary of the laboratory"
    yield ""
    yield from (f"- {line}" for line in BOUNDARY)
    yield ""
    yield f"Baseline of documented behaviour: the [PostgreSQL 18 manual]({MANUAL}), its pages as read on {MANUAL_READ}."
    yield "Every sentence about an experiment stands under one of four labels:"
    yield ""
    yield from (f"- **{label}**: {meaning}." for label, meaning in LABELS)


def _summary(experiments: Sequence[Experiment]) -> Iterator[str]:
    yield "## Experiments"
    yield ""
    yield "| experiment | acceptance condition | actual observation | verdict |"
    yield "|---|---|---|---|"
    for one in experiments:
        cells = (f"[{one.name}](#{one.name})", prose(one.part.prose.accepted_when), _in_short(one), f"**{one.word}**")
        yield f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _in_short(experiment: Experiment) -> str:
    """What was seen, in figures: judged invariants with their occasions, and what the designs beside it did."""
    told = [_result_in_short(result) for result in experiment.results]
    return "; ".join(words for words in told if words) or "none"


def _result_in_short(result: Result) -> str:
    part, analysis = result.part, result.analysis
    if analysis is None:
        return str(result.word) if part.missing or not result.damage else f"{result.word}: {result.error}"
    if part.role != MAIN:
        return f"{part.design} violated {', '.join(result.violated) or 'nothing'}"
    if part.mode == ROUNDS:
        return f"{part.name}: a real race, {', '.join(result.violated) or 'nothing judged'} violated"
    rows = _decided(analysis)
    seen = f"{sum(row.violations for row in rows)} violations in {sum(row.opportunities for row in rows)} occasions"
    left = [row.name for row in analysis.verdict.invariants if row.judged and row.verdict is Verdict.NOT_PROMISED]
    more = f", {', '.join(left)} not promised" if left else ""
    return f"{part.name}: {seen} of {len(rows)} invariants{more}"


def _decided(analysis: Analysis) -> list[InvariantVerdict]:
    """The judged invariants that could have been violated and are promised."""
    return [row for row in analysis.verdict.invariants if row.judged and row.verdict in (Verdict.VALID, Verdict.VIOLATED)]


def _experiment(experiment: Experiment) -> Iterator[str]:
    part, words = experiment.part, experiment.part.prose
    yield f"### {experiment.name}"
    yield ""
    yield f"{part.title}. Verdict: **{experiment.word}**. Evidence: `{part.file}`."
    yield ""
    yield f"- **Documented behaviour**: {prose(words.documented)} ([{words.page}]({MANUAL}{words.page}), read {MANUAL_READ})"
    yield f"- **Engineering inference**: {prose(words.hypothesis)}"
    yield f"- **Proposed experiment**: {prose(words.procedure)} Accepted when: {prose(words.accepted_when)}"
    yield "- **Actual observation**:"
    for result in experiment.results:
        yield from _observed(result)


def _observed(result: Result) -> Iterator[str]:
    """What one run showed; where workers really race it is another time different."""
    mark = OBSERVATIONAL if result.part.mode == ROUNDS else ""
    yield f"    - {_run_name(result.part)}: {_outcome(result)}{mark}"
    yield from (f"        - {text}{mark}" for text in _details(result))


def _run_name(part: Part) -> str:
    mode = ", all claims of a round at once" if part.mode == ROUNDS else ""
    return f"`{part.name}`, design `{part.design}` ({role_in_words(part)}{mode})"


def _outcome(result: Result) -> str:
    analysis = result.analysis
    if analysis is None:
        lacking = f", the design has no {', '.join(result.part.missing)}" if result.part.missing else ""
        return f"{result.word}{lacking}{f', {result.error}' if result.error else ''}."
    if result.error is not None:
        return f"{result.word}, {result.error}."
    if result.violated:
        return f"violated {', '.join(f'`{name}`' for name in result.violated)}."
    seen = ", ".join(f"`{row.name}` {row.opportunities}" for row in _decided(analysis))
    return f"nothing judged was violated; occasions: {seen or 'none'}."


def _details(result: Result) -> Iterator[str]:
    if result.analysis is None:
        return
    if result.part.role == MAIN:
        yield from _steps(result.analysis.history)
    if result.part.role != CONTROL:
        yield from figures(result.analysis.history)
        yield from _certificate(result.analysis)
    yield from unpromised(result.analysis)
    yield from _violations(result)


def _certificate(analysis: Analysis) -> Iterator[str]:
    """What a pass rests on; a script has no workers of its own to take steps."""
    if not analysis.history.context.script:
        yield from (f"{requires}: {figures_}." for requires, _, figures_ in analysis.verdict.certificate)


def _steps(history: History) -> Iterator[str]:
    for action in history.actions:
        yield f"step {action.number}: {sentence(action, history)}"
        if action.report is not None and action.report.note:
            yield f"step {action.number}: {plan_in_words(action.report.note)}{OBSERVATIONAL}"


def _violations(result: Result) -> Iterator[str]:
    if result.analysis is None:
        return
    for row in result.analysis.verdict.invariants:
        if row.name in result.violated and row.first is not None:
            text = fill_names(row.first.explanation, result.analysis.history.context)
            yield f"`{row.name}`, {occasions(row)}, first at event {row.first.seq}: {text}"


def _not_established(experiments: Sequence[Experiment]) -> Iterator[str]:
    yield "## What SKIP LOCKED does not establish"
    yield ""
    yield "| not established | because (engineering inference) | looked at in |"
    yield "|---|---|---|"
    words = {one.name: one.word for one in experiments}
    for what, why, where in NOT_ESTABLISHED:
        seen = ", ".join(f"[{name}](#{name}): {words[name]}" for name in where if name in words)
        yield f"| {what} | {why} | {seen or 'no experiment of this acceptance'} |"


def _gate(lines: Sequence[Line]) -> Iterator[str]:
    yield "## The acceptance gate"
    yield ""
    yield "| line | status | figures of these runs |"
    yield "|---|---|---|"
    yield from (f"| {line.text} | **{line.status}** | {_cell(line.figures)} |" for line in lines)


def _decision(acceptance: Acceptance) -> Iterator[str]:
    yield "## Decision"
    yield ""
    yield f"**{acceptance.decision.word}**. {_in_a_sentence(acceptance)}"
    if acceptance.decision.reasons:
        yield ""
        yield from (f"- {reason}" for reason in acceptance.decision.reasons)
    yield ""
    yield "What this does not prove:"
    yield ""
    yield from (f"- {line}" for line in (*NOT_PROVEN, *_unasked(acceptance.experiments)))


def _unasked(experiments: Sequence[Experiment]) -> Iterator[str]:
    """What the design promises and no run had an occasion to see."""
    tallies = tally_all(experiments)
    seen = [tally.name for tally in tallies if tally.status in (Status.HOLDS, Status.VIOLATED)]
    unseen = sorted(name for name in promised_by(experiments) if name not in seen)
    if unseen:
        yield f"The design also promises {', '.join(f'`{name}`' for name in unseen)}: no run of this acceptance decided that."


def _package(acceptance: Acceptance) -> Iterator[str]:
    yield "## The evidence"
    yield ""
    yield "`simrunner analyze` of this run compares every file with `manifest.json` and decides again from the stored runs."
    yield ""
    yield from (f"- `{name}`: {meaning}" for name, meaning in acceptance.files)
