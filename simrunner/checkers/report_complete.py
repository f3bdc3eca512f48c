"""report-complete: a number that the design's own report gives is the one that committed truth says at its snapshot.

A report that passes over locked rows says too little. The snapshot is the statement's, above READ COMMITTED that of the
transaction's first statement. A report that waited took its snapshot some time during the wait: it is wrong only if it is
right at no moment of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from simrunner.checkers.wording import judged
from simrunner.history.history import History
from simrunner.history.intervals import Call, owner_of
from simrunner.model.event import Event
from simrunner.model.job import JobState
from simrunner.model.verdict import Finding, Judgement

NAME = "report-complete"

_CONTROL = frozenset({"BEGIN", "COMMIT", "ROLLBACK"})
_READING = frozenset({"report", "count", "candidates", "lock-table"})

Truth = Mapping[str, int]
"""Committed jobs by state."""


def check(history: History) -> Judgement:
    """Judge every report whose transaction had changed nothing itself before."""
    reports = [call for call in _reports(history) if call.succeeded and _told(call)]
    moments = {call.sent.seq: _moments(call, history) for call in reports}
    truths = _truths(history, sorted({moment for own in moments.values() for moment in own}))
    found = (_finding(call, [truths[moment] for moment in moments[call.sent.seq]]) for call in reports)
    return judged(len(reports), (finding for finding in found if finding is not None))


def _reports(history: History) -> Iterator[Call]:
    """Yield the last statement of each report: the one whose rows are its result."""
    last: dict[int | None, Call] = {}
    wrote: dict[int | None, bool] = {}
    for call in history.calls:
        sent = call.sent
        if sent.value in _CONTROL:
            continue
        if sent.operation not in _READING:
            wrote[sent.txn] = True
        elif sent.operation == "report" and sent.txn not in wrote:
            if sent.value == "1" and sent.session in last:
                yield last[sent.session]
            last[sent.session] = call
    yield from last.values()


def _told(call: Call) -> bool:
    """Whether its numbers are known: one for each row that it returned, and none where it returned none."""
    return call.outcome is not None and (bool(call.reports) or call.outcome.rows == 0)


def _moments(call: Call, history: History) -> tuple[int, ...]:
    """The committed changes of which one was the last in its snapshot."""
    first = call.sent.snapshot_seq or 0
    if not call.blocked or call.outcome is None:
        return (first,)
    end = call.outcome.seq
    return (first, *(event.seq for event in _changes(history) if first < event.seq < end))


def _changes(history: History) -> list[Event]:
    moved = [event for events in history.changes.values() for event in events if event.kind != "seed"]
    return sorted(moved, key=lambda event: event.seq)


def _truths(history: History, moments: Sequence[int]) -> dict[int, Truth]:
    """Return the jobs by state just after each of the given events, which are in order. The fixture is there from the start."""
    states = {event.job: event.to_state for event in history.of_kind("seed")}
    changes = _changes(history)
    found: dict[int, Truth] = {}
    place = 0
    for moment in moments:
        while place < len(changes) and changes[place].seq <= moment:
            states[changes[place].job] = changes[place].to_state
            place += 1
        found[moment] = Counter(state for state in states.values() if state is not None)
    return found


def _finding(call: Call, truths: Sequence[Truth]) -> Finding | None:
    differences = [_differences(call, truth) for truth in truths]
    if not all(differences) or call.outcome is None:
        return None
    told = {report.to_state: report.seq for report in call.reports}
    seq = next((told[state] for state, _, _ in differences[0] if state in told), call.outcome.seq)
    words = "; ".join(f"{said} {state} jobs where there were {real}" for state, said, real in differences[0])
    text = f"The report of {owner_of(call.sent)} said {words}, in the committed state that its snapshot shows."
    snapshot = call.sent.snapshot_seq
    witness = {call.sent.seq, call.outcome.seq, seq} | ({snapshot} if snapshot else set())
    return Finding(NAME, seq, None, tuple(sorted(witness)), text)


def _differences(call: Call, truth: Truth) -> list[tuple[str, int, int]]:
    """The states of which it told another number than there were: (state, told, real)."""
    told = {report.to_state or str(JobState.READY): int(report.value or 0) for report in call.reports}
    alone = bool(call.reports) and call.reports[0].to_state is None
    states = [str(JobState.READY)] if alone else [str(state) for state in JobState]
    return [(state, told.get(state, 0), truth.get(state, 0)) for state in states if told.get(state, 0) != truth.get(state, 0)]
