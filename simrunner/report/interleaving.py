"""A history as an interleaving that a person reads: one column per actor, one line per step, up to the violation.

Rounds in which nothing changed are told in one line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from simrunner.analysis.names import job_name
from simrunner.history.context import Context
from simrunner.model.event import SERVER, Event
from simrunner.model.tape import KILL, UNPLANNED
from simrunner.model.verdict import Finding
from simrunner.report.page import plain_table

_CONTROL = frozenset({"BEGIN", "COMMIT", "ROLLBACK"})
_TRACES = frozenset({"transition", "renewal", "effect"})
_CHANGES = _TRACES | {"fault", "blocked", "failed"}
"""Kinds without which a round is not worth a line per step."""
_VIOLATED = Text(" <-- VIOLATED", "bold red")
ABSENCES = frozenset({"no-job-lost"})
"""Invariants that something missing at the end violates: the whole history is shown."""


class _Names(NamedTuple):
    """How jobs and sessions are named."""

    context: Context
    connections: Mapping[int | None, str]
    """By session; none for one on an actor's first connection."""


def interleaving(events: Sequence[Event], context: Context, finding: Finding) -> Iterator[RenderableType]:
    """Yield the table of a history up to a finding; of an absence, up to the end."""
    actors, names = _actors(events), _Names(context, _connections(events))
    table = plain_table("step>", *actors)
    idle: list[int] = []
    absent = finding.invariant in ABSENCES
    last_seq = events[-1].seq + 1 if absent else max(finding.seq, *finding.witness)
    for round_, members in groupby((event for event in events if event.round is not None), key=lambda event: event.round):
        steps = [list(group) for _, group in groupby(members, key=lambda event: event.step)]
        if not any(event.kind in _CHANGES for step in steps for event in step):
            idle.append(round_ or 0)
            continue
        _tell_idle(table, idle, actors)
        _round_line(table, steps, round_ or 0, actors)
        if _add_steps(table, steps, actors, names, last_seq):
            break
    _tell_idle(table, idle, actors)
    if absent:
        table.add_row("", Text.assemble(_left(events, context, finding), _VIOLATED), *[""] * (len(actors) - 1))
    yield table


def _actors(events: Sequence[Event]) -> list[str]:
    """Who did anything besides being there, in order of appearance; last the server, if it crashed."""
    started = dict.fromkeys(event.actor for event in events if event.kind == "process-start" and event.actor)
    busy = {event.actor for event in events if event.kind in ("sent", "fault")}
    return [actor for actor in (*started, SERVER) if actor in busy]


def _connections(events: Sequence[Event]) -> Mapping[int | None, str]:
    """Names of the connections that are not an actor's first, by the sessions on them."""
    return {event.session: event.value for event in events if event.kind == "session-start" and event.value is not None}


def _round_line(table: Table, steps: Sequence[Sequence[Event]], round_: int, actors: Sequence[str]) -> None:
    advanced = next((event.value for step in steps for event in step if event.kind == "clock"), None)
    later = f", {advanced} ms later" if advanced else ""
    table.add_row("", Text(f"round {round_}{later}", "dim"), *[""] * (len(actors) - 1))


def _tell_idle(table: Table, idle: list[int], actors: Sequence[str]) -> None:
    if idle:
        rounds = f"round {idle[0]}" if len(idle) == 1 else f"rounds {idle[0]} to {idle[-1]}"
        table.add_row("", Text(f"{rounds}: nothing changes", "dim"), *[""] * (len(actors) - 1))
        idle.clear()


def _add_steps(table: Table, steps: Sequence[Sequence[Event]], actors: Sequence[str], names: _Names, last_seq: int) -> bool:
    """Add a line for each step. True: the last event of the finding was among them."""
    for step in steps:
        shown = {actor: _cell([event for event in step if event.actor == actor], names, last_seq) for actor in actors}
        if any(cell.plain for cell in shown.values()):
            table.add_row(str(step[0].step), *(shown[actor] for actor in actors))
        if step[-1].seq >= last_seq:
            return True
    return False


def _cell(events: Sequence[Event], names: _Names, last_seq: int) -> Text:
    """What one actor did in one step."""
    words = Text()
    for event in events:
        part = _words(event, events, names)
        if part is not None:
            words.append(_between(words.plain, part.plain)).append_text(part)
        if event.seq == last_seq:
            words.append_text(_VIOLATED)
    return words


def _between(before: str, part: str) -> str:
    """What stands between two parts of a cell: a result follows its statement, anything else is a new thing."""
    return "" if not before else " " if part.startswith(("->", "*")) else "; "


def _words(event: Event, events: Sequence[Event], names: _Names) -> Text | None:
    """What is told of an event, with the name of its connection. BEGIN is not: nobody else can notice it."""
    on = f" on its connection {names.connections[event.session]}" if event.session in names.connections else ""
    if event.kind in ("sent", "freed") and event.value != "BEGIN":
        return Text(_statement(event) + ("" if event.value in _CONTROL else on) + (" goes on" if event.kind == "freed" else ""))
    if event.kind == "blocked":
        return Text(f"BLOCKED by {event.blocked_by}", "bold yellow")
    if event.kind == "ok" and event.value not in _CONTROL:
        return _result(event, events, names.context)
    if event.kind == "failed":
        return Text(f"FAILED {event.sqlstate}", "bold red")
    if event.kind == "fault":
        what = "KILLED" if event.value in (KILL, UNPLANNED) else (event.value or "").upper() + on
        return Text(f"{what} at {event.crash_point or 'once'}" if event.crash_point or what == "KILLED" else what, "bold red")
    if event.kind == "unknown":
        return Text("UNKNOWN", "bold yellow")
    if event.kind == "session-start":
        return Text("opens another session" + on)
    if event.kind in _TRACES:
        return Text(_trace(event, names.context), "bold")
    return Text("works") if event.kind == "work-start" else None


def _statement(event: Event) -> str:
    if event.value in _CONTROL:
        return event.value or ""
    return event.operation or "" if event.value == "1" else f"{event.operation} {event.value}"


def _result(event: Event, events: Sequence[Event], context: Context) -> Text:
    read = [job_name(context, other.job) or "" for other in events if other.kind == "read" and other.seq > event.seq]
    return Text(f"-> job {', '.join(read)}" if read else f"-> {event.rows} row{'' if event.rows == 1 else 's'}")


def _trace(event: Event, context: Context) -> str:
    job = job_name(context, event.job)
    if event.kind == "transition":
        return f"* job {job}: {event.from_state or 'new'} -> {event.to_state or 'gone'}"
    return f"* effect of job {job}" if event.kind == "effect" else f"* job {job}: {event.value or 'row'} changed"


def _left(events: Sequence[Event], context: Context, finding: Finding) -> str:
    """How an absence shows at the end."""
    states = [event.to_state or "gone" for event in events if event.job == finding.job and event.kind in ("seed", "transition")]
    return f"the end: job {job_name(context, finding.job)} is {states[-1] if states else 'gone'}"
