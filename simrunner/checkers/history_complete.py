"""history-complete: the final rows, the design's own audit trail and the state replayed from the history agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from simrunner.checkers.wording import judged
from simrunner.history.context import AuditRow
from simrunner.history.history import History
from simrunner.model.event import SERVER, Event
from simrunner.model.job import JobRow, JobState
from simrunner.model.verdict import Finding, Judgement

NAME = "history-complete"

Move = tuple[str | None, str | None, int | None, int | None]
"""(from_state, to_state, attempt, token)."""


def check(history: History) -> Judgement:
    """Judge every job whose final row is known; where the design keeps an audit trail, its moves too."""
    if history.context.final_jobs is None:
        return Judgement(0, ())
    rows = dict(history.context.final_jobs)
    jobs = [*history.changes, *(job for job in rows if job not in history.changes)]
    found = [finding for job in jobs for finding in _against_row(job, rows.get(job), history)]
    if history.context.audit is not None:
        found.extend(_against_audit(history.context.audit, history))
    return judged(len(jobs), found)


def _against_row(job: int, row: JobRow | None, history: History) -> Iterator[Finding]:
    changes = history.changes.get(job, ())
    if not changes:
        text = f"The database holds job {{job:{job}}}, which the history never mentions."
        yield Finding(NAME, len(history.events), job, (), text)
        return
    differences = _differences(changes[-1], row, history)
    if differences:
        text = f"The final row of job {{job:{job}}} and its last recorded change differ: {'; '.join(differences)}."
        yield Finding(NAME, changes[-1].seq, job, (changes[-1].seq,), text)


def _differences(last: Event, row: JobRow | None, history: History) -> list[str]:
    """Say in which columns a job's final row differs from its last change. The owner counts only while it is claimed."""
    state = None if row is None else row.state.value
    if state != last.to_state:
        return [f"state is {state or 'no row'}, recorded {last.to_state or 'no row'}"]
    if row is None:
        return []
    compared: list[tuple[str, object, object]] = [("attempts", row.attempts, last.attempt)]
    if row.state is JobState.CLAIMED:
        recorded = None if last.token is None else history.context.token_names.get(last.token, f"#{last.token}")
        compared += [("owner", row.owner, last.owner), ("token", row.token, recorded)]
    return [f"{name} is {stored}, recorded {seen}" for name, stored, seen in compared if stored != seen]


def _against_audit(audit: Sequence[AuditRow], history: History) -> Iterator[Finding]:
    """Compare moves between states, insertions left out; deletions, which a trail of updates does not see, if it tells any."""
    with_deletions = any(row.to_state is None for row in audit)
    with_attempts = any(row.attempt is not None for row in audit)
    with_tokens = any(row.token is not None for row in audit)
    trails = _trails(audit)
    for job in [*history.changes, *(job for job in trails if job not in history.changes)]:
        moves = [event for event in _surviving(history.changes.get(job, ())) if _is_move(event, with_deletions)]
        recorded = [_shown(_move(event), with_attempts, with_tokens) for event in moves]
        audited = [_shown(move, with_attempts, with_tokens) for move in trails.get(job, ())]
        if recorded != audited:
            yield _trail_finding(job, moves, recorded, audited, history)


def _surviving(changes: Sequence[Event]) -> list[Event]:
    """Leave out what a crash of the server undid: the trail has lost it too."""
    kept: list[Event] = []
    for event in changes:
        if event.actor != SERVER:
            kept.append(event)
            continue
        while kept and (kept[-1].to_state, kept[-1].attempt) != (event.to_state, event.attempt):
            kept.pop()
    return kept


def _trails(audit: Sequence[AuditRow]) -> dict[int, list[Move]]:
    found: dict[int, list[Move]] = {}
    for row in audit:
        moves = found.setdefault(row.job, [])
        renewed = row.from_state == row.to_state and bool(moves) and moves[-1][2:] == (row.attempt, row.token)
        if row.from_state is not None and not renewed:
            moves.append((row.from_state, row.to_state, row.attempt, row.token))
    return found


def _is_move(event: Event, with_deletions: bool) -> bool:
    known = event.from_state is not None and (event.to_state is not None or with_deletions)
    return event.kind == "transition" and known


def _move(event: Event) -> Move:
    return event.from_state, event.to_state, event.attempt, event.token


def _shown(move: Move, with_attempts: bool, with_tokens: bool) -> Move:
    """Blank what the audit trail does not record."""
    return move[0], move[1], move[2] if with_attempts else None, move[3] if with_tokens else None


def _trail_finding(job: int, moves: list[Event], recorded: list[Move], audited: list[Move], history: History) -> Finding:
    pairs = zip(recorded, audited, strict=False)
    place = next((index for index, (seen, trail) in enumerate(pairs) if seen != trail), min(len(recorded), len(audited)))
    known = history.by_job.get(job, ())
    last_seq = known[-1].seq if known else len(history.events)
    seq = moves[place].seq if place < len(moves) else last_seq
    text = (
        f"The audit trail of job {{job:{job}}} and the history differ at move {place + 1}: "
        f"the trail says {_said(audited, place)}, the history {_said(recorded, place)}."
    )
    return Finding(NAME, seq, job, (seq,), text)


def _said(moves: list[Move], place: int) -> str:
    if place >= len(moves):
        return "nothing more"
    before, after, attempt, token = moves[place]
    shown = "" if attempt is None else f", attempt {attempt}"
    return f"{before} -> {after or 'no row'}{shown}" + ("" if token is None else f", token {{token:{token}}}")
