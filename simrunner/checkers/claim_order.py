"""claim-order: no job is claimed while another, ahead of it in the declared order, is eligible and free.

Alone, a claim is judged by the candidates recorded just before it. Among claims of one concurrent round nobody knows
which chose first, but whichever job one of them reached has fewer free candidates ahead of it than all of them can hold.
"""

from __future__ import annotations

from collections.abc import Iterator

from simrunner.checkers.wording import judged
from simrunner.history.attempts import ClaimAttempt, ClaimRound, untouched
from simrunner.history.history import History
from simrunner.history.order import place_of
from simrunner.model.design import Ownership
from simrunner.model.event import Event
from simrunner.model.verdict import Finding, Judgement

NAME = "claim-order"


def check(history: History) -> Judgement:
    """Judge every claim that had at least two candidates to choose from. Without a declared order nothing is judged."""
    if not history.context.promises.order:
        return Judgement(0, ())
    opportunities, found = _judge_rounds(history) if history.context.mode == "rounds" else _judge_attempts(history)
    return judged(opportunities, found)


def _judge_attempts(history: History) -> tuple[int, list[Finding]]:
    chances = [attempt for attempt in history.attempts if len(_countable(attempt, history)) > 1 and _claimed(attempt, history)]
    found = (_passed_over(attempt, history) for attempt in chances)
    return len(chances), [finding for finding in found if finding is not None]


def _judge_rounds(history: History) -> tuple[int, list[Finding]]:
    chances = [claims for claims in history.rounds if len(_countable(claims, history)) > 1 and claims.taken]
    found = [finding for claims in chances for finding in _beyond(claims, history)]
    return sum(len(claims.attempts) for claims in chances), found


def _countable(claims: ClaimAttempt | ClaimRound, history: History) -> tuple[Event, ...]:
    """The candidates that may not be passed over: the free ones, under a strict policy the locked ones too."""
    return claims.candidates if history.context.policies.fifo_counts_locked else claims.free


def _claimed(attempt: ClaimAttempt, history: History) -> dict[int, Event]:
    """What an attempt claimed. Where the lock itself is the claim it need not commit."""
    return attempt.taken if attempt.committed or history.context.ownership is Ownership.LOCK else {}


def _passed_over(attempt: ClaimAttempt, history: History) -> Finding | None:
    claimed = _claimed(attempt, history)
    left = (candidate for candidate in _countable(attempt, history) if candidate.job not in claimed)
    ahead = next((candidate for candidate in left if _waited(candidate, attempt, history)), None)
    if ahead is None:
        return None
    behind = (event for event in claimed.values() if _is_behind(event, ahead, attempt, history))
    return next((_finding(event, ahead, attempt.candidates) for event in behind), None)


def _waited(candidate: Event, attempt: ClaimAttempt, history: History) -> bool:
    """Whether a candidate stayed as the probe saw it until the attempt had chosen, however long that was blocked."""
    events = history.by_job[candidate.job] if candidate.job is not None else ()
    return untouched(events, attempt.seen_seq, attempt.decided_seq, attempt.sent.actor)


def _is_behind(event: Event, ahead: Event, attempt: ClaimAttempt, history: History) -> bool:
    """Whether a claimed job stands behind a candidate.

    One that was no candidate does, unless the attempt chose later than its probe: then by the order of the two.
    """
    known = next((candidate for candidate in attempt.candidates if candidate.job == event.job), None)
    if known is not None:
        return (known.rank or 0) > (ahead.rank or 0)
    if len(attempt.calls) == 1 and not attempt.calls[0].blocked:
        return True
    keys = _order_key(event, history), _order_key(ahead, history)
    return keys[0] is not None and keys[1] is not None and place_of(keys[0]) > place_of(keys[1])


def _order_key(event: Event, history: History) -> str | None:
    known = history.change_before(event.job, event.seq) if event.job is not None else None
    return None if known is None else known.order_key


def _beyond(claims: ClaimRound, history: History) -> Iterator[Finding]:
    """Find the jobs of a round that lie behind more candidates than all its claims together can hold."""
    batch = history.context.batch
    capacity = sum(max(batch, len(attempt.taken)) for attempt in claims.attempts)
    countable = _countable(claims, history)
    beyond = {candidate.job for candidate in countable[capacity:]}
    known = {candidate.job for candidate in claims.candidates}
    taken = claims.taken
    ahead = next((c for c in countable[:capacity] if c.job not in taken and _unchanged(c, history, claims)), None)
    if not beyond or ahead is None:
        return
    for job, event in taken.items():
        if job in beyond or (job not in known and _was_ready(job, ahead, history)):
            yield _finding(event, ahead, claims.candidates)


def _unchanged(candidate: Event, history: History, claims: ClaimRound) -> bool:
    last_seq = max(attempt.decided_seq for attempt in claims.attempts)
    change = history.change_after(candidate.job, candidate.seq) if candidate.job is not None else None
    return change is None or change.seq > last_seq


def _was_ready(job: int, ahead: Event, history: History) -> bool:
    """Whether a job that was no candidate was ready when the round began: the list of candidates ended before it."""
    change = history.change_before(job, ahead.seq)
    return change is not None and change.to_state == "ready"


def _finding(event: Event, ahead: Event, candidates: tuple[Event, ...]) -> Finding:
    own = next((candidate for candidate in candidates if candidate.job == event.job), None)
    rank = f"not among the first {len(candidates)} candidates" if own is None else f"rank {own.rank}"
    lock = (
        "nobody had locked it"
        if ahead.blocked_by is None
        else f"the declared order counts locked jobs ({ahead.blocked_by} held it)"
    )
    text = (
        f"{event.actor} claimed job {{job:{event.job}}} ({rank}) although job {{job:{ahead.job}}} (rank {ahead.rank}) "
        f"was eligible and {lock}."
    )
    witness = sorted({ahead.seq, event.seq} | ({own.seq} if own is not None else set()))
    return Finding(NAME, event.seq, ahead.job, tuple(witness), text)
