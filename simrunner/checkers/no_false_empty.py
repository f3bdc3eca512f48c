"""no-false-empty: a claim does not come back empty while an eligible job that nobody locked was there to see."""

from __future__ import annotations

from collections.abc import Iterator

from simrunner.checkers.wording import judged
from simrunner.history.attempts import ClaimAttempt, ClaimRound, untouched
from simrunner.history.history import History
from simrunner.model.event import Event
from simrunner.model.verdict import Finding, Judgement

NAME = "no-false-empty"


def check(history: History) -> Judgement:
    """Judge every claim that had a free candidate; in rounds mode one more than the other claims of its round can hold."""
    if history.context.mode == "rounds":
        chances = [chance for claims in history.rounds for chance in _round_chances(claims, history.context.batch)]
    else:
        chances = [(attempt, attempt.free) for attempt in history.attempts if attempt.free]
    found = (_false_empty(attempt, free, history) for attempt, free in chances)
    return judged(len(chances), (finding for finding in found if finding is not None))


def _round_chances(claims: ClaimRound, batch: int) -> Iterator[tuple[ClaimAttempt, tuple[Event, ...]]]:
    """Yield the attempts of a round for which something must have been left, with the candidates nobody took."""
    capacity = {attempt.seen_seq: max(batch, len(attempt.taken)) for attempt in claims.attempts}
    total, free, taken = sum(capacity.values()), claims.free, claims.taken
    for attempt in claims.attempts:
        if len(free) > total - capacity[attempt.seen_seq]:
            yield attempt, tuple(candidate for candidate in free if candidate.job not in taken)


def _false_empty(attempt: ClaimAttempt, free: tuple[Event, ...], history: History) -> Finding | None:
    if attempt.empty is None:
        return None
    seen = next((candidate for candidate in free if _waited(candidate, attempt, history)), None)
    return None if seen is None else _finding(attempt, attempt.empty, seen)


def _waited(candidate: Event, attempt: ClaimAttempt, history: History) -> bool:
    """Whether a candidate stayed free until the attempt had ended, however long that was blocked."""
    events = history.by_job[candidate.job] if candidate.job is not None else ()
    return untouched(events, attempt.seen_seq, attempt.decided_seq, attempt.sent.actor)


def _finding(attempt: ClaimAttempt, ok: Event, seen: Event) -> Finding:
    text = (
        f"The claim of {ok.actor} returned nothing although job {{job:{seen.job}}} (rank {seen.rank}) was eligible "
        "and nobody had locked it."
    )
    return Finding(NAME, ok.seq, seen.job, (seen.seq, attempt.sent.seq, ok.seq), text)
