"""A script as commands for a few terminals with psql, in the order in which they are to be given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from simrunner.search.export import clock
from simrunner.search.export.script import OBSERVER, Script, Step


def psql_text(script: Script) -> str:
    """Return the commands. Every block begins with a line `-- == terminal N: session`, which says where it is to be typed."""
    terminals = {name: number for number, name in enumerate((OBSERVER, *_lasting(script)), 1)}
    lines = [*_head(script, terminals), *_setup(script, terminals)]
    opened: set[str] = set()
    for place, step in enumerate(script.steps):
        lines += _block(step, script.steps[place + 1 :], terminals, opened, script)
    return "\n".join([*lines, *_ending(script, terminals)]) + "\n"


def _lasting(script: Script) -> list[str]:
    """The actors: a process that follows a killed one gets its terminal."""
    return list(dict.fromkeys(_actor(session) for session in script.sessions))


def _actor(session: str) -> str:
    return session.rpartition(".")[0] or session


def _head(script: Script, terminals: dict[str, int]) -> Iterator[str]:
    yield f"-- {script.title}"
    yield "--"
    yield f"-- {script.explanation}"
    yield f"-- The promise: {script.promise}."
    yield "--"
    yield f"-- Open {len(terminals)} terminals with psql, all in the same empty database, and give the commands in this order."
    yield "-- now() tells the times of the run, from a setting: each transaction sets it before it begins."
    yield from (f"-- {name}: {value}" for name, value in script.facts)


def _setup(script: Script, terminals: dict[str, int]) -> Iterator[str]:
    yield from _title(OBSERVER, terminals)
    for name, sql in script.setup:
        yield f"-- {name}"
        yield sql


def _block(step: Step, following: Sequence[Step], terminals: dict[str, int], opened: set[str], script: Script) -> Iterator[str]:
    name = step.session if step.session == OBSERVER else _actor(step.session)
    yield from _title(name, terminals, step)
    if step.sql is None:
        opened.discard(step.session)
        yield "-- KILL this psql: kill -9, from another shell; open it again when it is needed"
        return
    if step.session not in opened and step.session != OBSERVER:
        opened.add(step.session)
        yield clock.SEARCH_PATH
    yield from (f"{sent};" for sent in clock.before(step.begins_at, step.said_at, script.isolation))
    fed = _fed_by(step, following)
    yield f"{step.sql} \\gset" if fed else f"{step.sql};"
    yield from (f"\\echo {word} is :{word}" for word in fed)
    if step.blocked_by is not None:
        yield f"-- WAITS for {step.blocked_by}: go on in the other terminal"
    yield from (f"-- {note}" for note in step.notes)


def _fed_by(step: Step, following: Sequence[Step]) -> list[str]:
    """Parameters that the next statement of the session takes from this one's row."""
    after = next((one for one in following if one.session == step.session), None)
    return [] if after is None else [form.strip(":'") for form in after.fed]


def _title(name: str, terminals: dict[str, int], step: Step | None = None) -> Iterator[str]:
    yield ""
    yield f"-- == terminal {terminals[name]}: {name}" + (f", {step.session} {step.title}" if step is not None else "")


def _ending(script: Script, terminals: dict[str, int]) -> Iterator[str]:
    symptom = script.symptom
    yield from _title(OBSERVER, terminals)
    if symptom.sql is not None:
        yield "-- A row here is the violation: a design that keeps the promise returns none."
        yield f"{symptom.sql};"
    else:
        yield f"-- What step {symptom.step} returned above is the violation."
    yield f"-- Close the other terminals, then: DROP SCHEMA {clock.SCHEMA} CASCADE;"
