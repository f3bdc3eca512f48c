"""What a run showed, in figures: claims, ranks, waits, recoveries, refused writes, crashes. Only virtual times are among them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from simrunner.analysis.names import job_name
from simrunner.checkers.wording import moment
from simrunner.history.attempts import ClaimAttempt
from simrunner.history.history import History
from simrunner.model.event import Event
from simrunner.report.acceptance.waits import Wait, longest_waits, waits_of

_LISTED_MAX = 6


def figures(history: History) -> tuple[str, ...]:
    """Return sentences with the figures of a run, each only where there is something to tell.

    The steps of a script are told one by one elsewhere: of such a run only what no single step shows is told here.
    """
    waits = waits_of(history)
    if history.context.script:
        return (*_passed(history, waits), *_recoveries(history, waits), *_courses(history))
    told = (_claims(history), _ranks(history), _cohort(history, waits), _passed(history, waits), _recoveries(history, waits))
    return tuple(line for lines in (*told, _writes(history), _crashes(history)) for line in lines)


def _claims(history: History) -> Iterator[str]:
    claims = history.claims
    if not claims:
        return
    workers = Counter(event.actor or "" for event in claims)
    shares = ", ".join(f"{actor} {count}" for actor, count in sorted(workers.items()))
    yield f"{len(claims)} claims of {len({event.job for event in claims})} jobs were committed."
    if len(workers) > 1:
        yield f"Distribution, which is reported and no criterion: {shares}."
    empty = sum(1 for attempt in history.attempts if attempt.empty is not None)
    if empty:
        yield f"{empty} claims came back empty: nothing was claimable at that moment."


def _ranks(history: History) -> Iterator[str]:
    """How many claims took what stood first among the candidates that nobody had locked."""
    if history.context.mode == "rounds":
        rounds = [one for one in history.rounds if one.candidates and one.taken]
        top = sum(1 for one in rounds if set(one.taken) == {probe.job for probe in one.free[: len(one.taken)]})
        if rounds:
            yield f"In {top} of {len(rounds)} rounds the claimed jobs were the highest-ranked free ones."
        return
    probed = [attempt for attempt in history.attempts if attempt.candidates and attempt.taken]
    if probed and history.context.promises.order:
        top = sum(1 for attempt in probed if _took_the_top(attempt))
        yield f"{top} of {len(probed)} claims took the highest-ranked candidates that nobody had locked."


def _took_the_top(attempt: ClaimAttempt) -> bool:
    return set(attempt.taken) == {probe.job for probe in attempt.free[: len(attempt.taken)]}


def _cohort(history: History, waits: Sequence[Wait]) -> Iterator[str]:
    """How the original jobs fared: in which state they ended, and the longest wait."""
    originals = longest_waits(waits)
    if not originals or not history.claims:
        return
    ends = {job: row.state for job, row in history.context.final_jobs or ()}
    states = Counter(str(ends[wait.job]) for wait in originals if wait.job in ends)
    shares = ", ".join(f"{count} {state}" for state, count in states.items())
    yield f"Of {len(originals)} jobs of the cohort at the end: {shares}."
    slow = max(originals, key=lambda wait: (wait.waited_ms, -wait.job))
    yield f"The longest wait was that of {_name(slow, history)}: {slow.waited_ms} virtual ms, {_passes(slow)}."


def _passed(history: History, waits: Sequence[Wait]) -> Iterator[str]:
    """Which job of the cohort was passed by most claims of jobs that came later."""
    passed = max((wait for wait in waits if wait.in_cohort), key=lambda wait: (wait.newer, -wait.job), default=None)
    if passed is not None and passed.newer:
        ended = "it was claimed then" if passed.end is not None else "it was still ready at the end"
        yield f"Most newer jobs went by {_name(passed, history)}: {_passes(passed)}; {ended}."


def _recoveries(history: History, waits: Sequence[Wait]) -> Iterator[str]:
    recovered = [wait for wait in waits if wait.is_recovery]
    for wait in recovered[:_LISTED_MAX]:
        ahead = "" if wait.ahead is None else f", ready jobs ahead of it: {wait.ahead}"
        ended = "it was claimed then" if wait.end is not None else "it was still ready at the end"
        yield f"J{_name(wait, history)[1:]} re-entered by recovery{ahead}; {_passes(wait)}; {ended}."
    if len(recovered) > _LISTED_MAX:
        yield f"{len(recovered) - _LISTED_MAX} more recoveries stand in recoveries.csv."


def _writes(history: History) -> Iterator[str]:
    answered = [call for call in history.writes if call.succeeded]
    refused = [call for call in answered if call.outcome is not None and call.outcome.rows == 0]
    if refused:
        jobs = ", ".join(sorted({job_name(history.context, call.sent.job) or "" for call in refused}, key=_natural))
        yield f"{len(refused)} of {len(answered)} writes of owners were refused, on job {jobs}: the claim was no longer theirs."


def _courses(history: History) -> Iterator[str]:
    """The lives of jobs that were claimed again, beside one that was not: the same last row can end different histories."""
    again = [job for job, intervals in history.ownership.items() if len(intervals) > 1]
    once = [job for job, intervals in history.ownership.items() if len(intervals) == 1]
    for job in sorted([*again[:_LISTED_MAX], *once[:1]]) if again else ():
        yield _course(job, history)


def _course(job: int, history: History) -> str:
    moves = [_move(event) for event in history.changes.get(job, ()) if event.kind == "transition"]
    end = next((str(row.state) for ordinal, row in history.context.final_jobs or () if ordinal == job), "not in the table")
    refused = sum(1 for call in history.writes if call.sent.job == job and call.outcome is not None and call.outcome.rows == 0)
    late = f"; {refused} writes of former owners were refused" if refused else ""
    return f"Job {job_name(history.context, job)}, at the end {end}: {', '.join(moves)}{late}."


def _move(event: Event) -> str:
    attempt = f" (attempt {event.attempt})" if event.to_state == "claimed" else ""
    return f"{event.to_state or 'deleted'} by {event.actor}.{event.incarnation}{attempt}"


def _crashes(history: History) -> Iterator[str]:
    for event in history.of_kind("fault"):
        where = f" at {event.crash_point}" if event.crash_point else ""
        whom = event.actor if event.incarnation is None else f"{event.actor}.{event.incarnation}"
        yield f"{whom} was struck by {event.value}{where}, {_time(event)}."


def _name(wait: Wait, history: History) -> str:
    return f"job {job_name(history.context, wait.job)}"


def _passes(wait: Wait) -> str:
    return f"claims of other jobs meanwhile: {wait.passed}, of newer jobs: {wait.newer}"


def _time(event: Event) -> str:
    return f"virtual time {moment(event.virtual_time)}"


def _natural(name: str) -> tuple[int, str]:
    return (int(name), "") if name.isdigit() else (0, name)
