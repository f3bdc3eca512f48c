"""What each step of a script really showed, in one plain sentence: a pure function of the script and its history."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from psycopg.errors import lookup

from simrunner.analysis.names import job_name, token_name
from simrunner.history.history import History
from simrunner.history.script import CONTROL, ScriptAction
from simrunner.model.event import Event
from simrunner.model.workload import ScriptStep

SHOWN_MAX = 12
"""So many jobs of a long list are named."""


def sentences(history: History) -> tuple[str, ...]:
    """Return one sentence for each step of the script, in order."""
    return tuple(sentence(action, history) for action in history.actions)


def sentence(action: ScriptAction, history: History) -> str:
    """Return what one step asked for and what came of it."""
    asked = _asked(action, history) + (f", {action.step.times} times" if action.step.times != 1 else "")
    if not action.taken:
        return f"{asked}: not taken, it was dead or still blocked."
    came = "; ".join(words for words in (_wait(action, history), _came(action, history)) if words)
    return f"{asked}: {came}." if came else f"{asked}."


def jobs_in_words(jobs: Sequence[int], history: History) -> str:
    """Return `job 1` or `jobs 1, 2 and 3 more`, by the design's own ids; `no job` for none."""
    if not jobs:
        return "no job"
    names = [job_name(history.context, job) or "" for job in jobs[:SHOWN_MAX]]
    more = f" and {len(jobs) - SHOWN_MAX} more" if len(jobs) > SHOWN_MAX else ""
    return f"{'job' if len(jobs) == 1 else 'jobs'} {', '.join(names)}{more}"


# what was asked


def _asked(action: ScriptAction, history: History) -> str:
    step = action.step
    if step.do in _OWNERS:
        return f"{step.actor} {_OWNERS[step.do]} {_subject(action, history)}"
    if step.do == "advance":
        return _advanced(action)
    return _ASKED[step.do](step)


def _advanced(action: ScriptAction) -> str:
    """How far the clock went, which the step says or the lease of a claim."""
    went = next((event.value for event in action.events if event.kind == "clock"), "0")
    whose = f", to {action.step.ms or 0} ms after the lease of {action.step.claim_of} ends" if action.step.claim_of else ""
    return f"{went} virtual ms went by{whose}"


def _subject(action: ScriptAction, history: History) -> str:
    sent = next((event for event in action.events if event.job is not None), None)
    if sent is None:
        return "nothing, for it had claimed nothing"
    token = "" if sent.token is None else f" with token {token_name(history.context, sent.token)}"
    borrowed = f", the claim of {action.step.claim_of}" if action.step.claim_of else ""
    return f"job {job_name(history.context, sent.job)}{token}{borrowed}"


_OWNERS = {
    "complete": "asked to complete",
    "fail": "reported the failure of",
    "release": "asked to release",
    "heartbeat": "asked to renew the lease of",
    "effect": "tried to record the effect of",
    "recover-write": "wrote, as it had read it, the recovery of",
    "work-start": "began to work on",
    "work-end": "ended its work on",
}
"""What acts on a claimed job."""

_ASKED: dict[str, Callable[[ScriptStep], str]] = {
    "begin": lambda step: f"{step.actor} began a transaction" + (f" at {step.isolation.upper()}" if step.isolation else ""),
    "commit": lambda step: f"{step.actor} sent COMMIT",
    "rollback": lambda step: f"{step.actor} sent ROLLBACK",
    "claim": lambda step: f"{step.actor} claimed" + (f" up to {step.limit} jobs" if step.limit else ""),
    "recover": lambda step: f"{step.actor} ran the recovery",
    "recover-read": lambda step: f"{step.actor} read which claims had lapsed",
    "reprioritize": lambda step: f"{step.actor} gave job {step.job} the priority {step.priority or 0}",
    "amend": lambda step: f"{step.actor} changed a column of job {step.job} that no order knows",
    "enqueue": lambda step: f"{step.actor} enqueued {step.jobs or 1} jobs of priority {step.priority or 0}",
    "candidates": lambda step: f"{step.actor} asked for candidates{_clauses(step)}",
    "count": lambda step: f"{step.actor} counted candidates{_clauses(step)}",
    "report": lambda step: f"{step.actor} asked for the design's report",
    "lock-table": lambda step: f"{step.actor} locked the table in {step.mode} MODE",
    "explain": lambda step: f"{step.actor} asked for the plan of the claim" + (", which was executed" if step.analyze else ""),
    "kill": lambda step: f"{step.actor} was killed" + (f" at {step.crash_point}" if step.crash_point else ""),
    "restart": lambda step: f"{step.actor} was started again",
    "work": lambda step: f"{step.actor} claimed, worked and completed",
    "look": lambda step: "The skip probe listed the ready jobs",
    "vacuum": lambda step: "The tables were vacuumed",
    "analyze": lambda step: "The tables were analyzed",
}


def _clauses(step: ScriptStep) -> str:
    limit = f" LIMIT {step.limit}" if step.limit else ""
    lock = f" {step.lock}" if step.lock else " without a lock"
    return f"{limit}{lock}" + (" in a sub-query, its result sorted outside" if step.sorted_outside else "")


# what came of it


def _wait(action: ScriptAction, history: History) -> str:
    """Whom it waited for, and what ended the wait."""
    if action.step.do == "look":
        return ""
    if action.blocked is None:
        return "did not wait" if action.step.expect is not None and action.step.expect.waits is False else ""
    waited = f"waited for {action.blocked.blocked_by}"
    if action.freed is None:
        return f"{waited} and did not go on before the end"
    return f"{waited} until {_freeing(action.freed, history)}"


def _freeing(freed: Event, history: History) -> str:
    for event in reversed(history.events[: freed.seq - 1]):
        if event.kind == "backend-gone":
            return f"the server process of {event.actor} had gone"
        if event.kind == "ok" and event.value in ("COMMIT", "ROLLBACK") and event.actor != freed.actor:
            return f"{event.value} of {event.actor}"
    return "another moved on"


def _came(action: ScriptAction, history: History) -> str:
    if action.failed is not None:
        state = action.failed.sqlstate or ""
        return f"failed with {state}{_condition(state)}"
    if action.step.do != "look" and action.blocked is not None and action.freed is None:
        return ""
    return _RESULTS.get(action.step.do, _changes)(action, history)


def _condition(sqlstate: str) -> str:
    try:
        return f" ({lookup(sqlstate).__name__})"
    except KeyError:
        return ""


def _returned(action: ScriptAction, history: History) -> str:
    returned = f"returned {jobs_in_words(action.jobs, history)}"
    if action.step.do == "work":
        return "; ".join(words for words in (returned, _changes(action, history)) if words)
    if action.step.do != "claim" or not action.jobs:
        return returned
    ended = {event.value for event in action.events if event.kind == "ok" and event.value in CONTROL}
    return f"{returned}, {'committed' if {'BEGIN', 'COMMIT'} <= ended else 'not committed yet'}"


def _numbers(action: ScriptAction, history: History) -> str:
    told = [event for event in action.events if event.kind == "report" and event.value is not None]
    return ", ".join(f"{event.to_state} {event.value}" if event.to_state else f"{event.value}" for event in told) or "nothing"


def _write(action: ScriptAction, history: History) -> str:
    """Whether an owner's write changed a row."""
    verdict = "accepted" if action.rows else "refused, 0 rows"
    return "; ".join(words for words in (verdict, _changes(action, history)) if words)


def _recovered(action: ScriptAction, history: History) -> str:
    return _changes(action, history) or f"{action.rows or 0} rows"


def _changes(action: ScriptAction, history: History) -> str:
    """The committed changes that the step made durable, alike ones together."""
    alike: dict[tuple[str, str | None, str | None], list[Event]] = {}
    for event in action.events:
        if event.kind in ("transition", "effect"):
            alike.setdefault((event.kind, event.from_state, event.to_state), []).append(event)
    return ", ".join(_change(events, history) for events in alike.values())


def _change(events: Sequence[Event], history: History) -> str:
    event = events[0]
    names = jobs_in_words([one.job for one in events if one.job is not None], history)
    if event.kind == "effect":
        return f"the effect of {names} was recorded"
    rank = f" at rank {event.rank}" if len(events) == 1 and event.to_state == "ready" and event.rank is not None else ""
    if event.from_state is None:
        return f"{names} came in as {event.to_state}{rank}"
    return f"{names} went from {event.from_state} to {event.to_state}{rank}" if event.to_state else f"{names} left the table"


def _seen(action: ScriptAction, history: History) -> str:
    probes = [event for event in action.events if event.kind == "probe"]
    if not probes:
        return "none"
    names = [f"{job_name(history.context, one.job)}{_locked(one)}" for one in probes[:SHOWN_MAX]]
    return ", ".join(names) + (f" and {len(probes) - SHOWN_MAX} more" if len(probes) > SHOWN_MAX else "")


def _locked(probe: Event) -> str:
    return f" (locked by {probe.blocked_by})" if probe.blocked_by else ""


def _gone(action: ScriptAction, history: History) -> str:
    gone = any(event.kind == "backend-gone" for event in action.events)
    told = "its server process had gone before the next step" if gone else "its server process still waited"
    return "; ".join(words for words in (told, _changes(action, history)) if words)


_RESULTS: dict[str, Callable[[ScriptAction, History], str]] = {
    "claim": _returned,
    "work": _returned,
    "candidates": _returned,
    "recover-read": _returned,
    "count": _numbers,
    "report": _numbers,
    "explain": lambda action, history: "the plan is recorded",
    "lock-table": lambda action, history: "granted",
    "rollback": lambda action, history: _changes(action, history) or "nothing of it was kept",
    "look": _seen,
    "recover": _recovered,
    "kill": _gone,
    **dict.fromkeys(("complete", "fail", "release", "heartbeat", "effect", "recover-write"), _write),
}
"""How the outcome of an action is told; of the others, what they changed."""
