"""as-scripted: what each step of a script showed is what the workload says it shows.

The workload promises it, not the design: an expectation is what PostgreSQL documents, or what a design that promises the
invariant in `needs` must do. Without that promise it is not judged, nor is a step whose operation the design does not
offer. It is judged at the end of the run, so that an invariant which explains the difference is the root cause before it.
"""

from __future__ import annotations

from collections.abc import Iterator

from simrunner.checkers.wording import judged
from simrunner.history.history import History
from simrunner.history.script import ScriptAction
from simrunner.model.operations import OPERATIONS, is_offered
from simrunner.model.verdict import Finding, Judgement
from simrunner.model.workload import Expectation

NAME = "as-scripted"


def check(history: History) -> Judgement:
    """Compare every expectation with what its step did. Of an interrupted run nothing is judged."""
    if not history.context.completed:
        return Judgement(0, ())
    offered = [action for action in history.actions if _is_offered(action.step.do, history)]
    expected = [(action, expect) for action in offered if (expect := action.step.expect) and _holds(expect, history)]
    found = (_finding(action, expect, history) for action, expect in expected)
    return judged(len(expected), (finding for finding in found if finding is not None))


def _is_offered(action: str, history: History) -> bool:
    return action not in OPERATIONS or is_offered(action, history.context.offers)


def _holds(expect: Expectation, history: History) -> bool:
    promised = history.context.promises.invariants
    return (expect.needs is None or expect.needs in promised) and (expect.unless is None or expect.unless not in promised)


def _finding(action: ScriptAction, expect: Expectation, history: History) -> Finding | None:
    differences = list(_differences(action, expect, history)) if action.taken else ["it was not taken"]
    if not differences:
        return None
    step = action.step
    text = f"Step {action.number}, {step.do} of {step.actor or 'the coordinator'}: {'; '.join(differences)}."
    witness = tuple(event.seq for event in action.events)
    return Finding(NAME, history.events[-1].seq, next(iter(action.jobs), None), witness, text)


def _differences(action: ScriptAction, expect: Expectation, history: History) -> Iterator[str]:
    """Yield in words what is not as expected."""
    if expect.jobs is not None:
        names = tuple(history.context.job_names.get(job, f"#{job}") for job in action.jobs)
        if names != expect.jobs:
            yield f"returned {_list(names)}, expected {_list(expect.jobs)}"
    if expect.rows is not None and action.rows != expect.rows:
        yield f"{_number(action.rows)} rows, expected {expect.rows}"
    if expect.count is not None and (counted := action.report.value if action.report else None) != str(expect.count):
        yield f"counted {counted or 'nothing'}, expected {expect.count}"
    if expect.sqlstate is None and action.failed is not None:
        yield f"failed with {action.failed.sqlstate}"
    if expect.sqlstate is not None and (state := action.failed.sqlstate if action.failed else None) != expect.sqlstate:
        yield f"{f'failed with {state}' if state else 'did not fail'}, expected {expect.sqlstate}"
    yield from _waits(action, expect)


def _waits(action: ScriptAction, expect: Expectation) -> Iterator[str]:
    holder = action.blocked.blocked_by if action.blocked else None
    if action.step.do == "look":
        yield from _locked(holder, expect)
    elif expect.blocked_by is not None and holder != expect.blocked_by:
        yield f"waited for {holder or 'nobody'}, expected {expect.blocked_by}"
    elif expect.waits is not None and expect.waits != (action.blocked is not None):
        yield f"waited for {holder}, expected no wait" if action.blocked else "did not wait, expected a wait"


def _locked(holder: str | None, expect: Expectation) -> Iterator[str]:
    """A look takes no lock and never waits: it tells who has locked the first job."""
    if expect.blocked_by is not None and holder != expect.blocked_by:
        yield f"the first job was locked by {holder or 'nobody'}, expected {expect.blocked_by}"
    elif expect.waits is not None and expect.waits != (holder is not None):
        yield f"the first job was locked by {holder or 'nobody'}"


def _list(names: tuple[str, ...]) -> str:
    return f"job {', '.join(names)}" if names else "no job"


def _number(rows: int | None) -> str:
    return "no" if rows is None else str(rows)
