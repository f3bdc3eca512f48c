"""A script as a spec of PostgreSQL's isolationtester (src/test/isolation/README in PostgreSQL's sources)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from simrunner.errors import InputError
from simrunner.search.export import clock
from simrunner.search.export.script import OBSERVER, Script, Step


def spec_text(script: Script) -> str:
    """Return the spec. Raises InputError, with the reason, for a case that no spec can express."""
    _refuse(script)
    steps = [*script.steps, *_ending(script)]
    parts = [
        _head(script),
        *(f"# {name}\nsetup\n{{\n{sql}\n}}\n" for name, sql in script.setup),
        f"teardown\n{{\nDROP SCHEMA {clock.SCHEMA} CASCADE;\n}}\n",
        *(_session(name, script, steps) for name in dict.fromkeys((*script.sessions, *(step.session for step in steps)))),
        _permutation(steps),
    ]
    return "\n".join(parts)


def _refuse(script: Script) -> None:
    """Raise InputError for what a spec cannot say."""
    for step in script.steps:
        if step.sql is None and step.blocked_by is not None:
            raise _inexpressible(
                f"{step.session} is killed while its statement waits, and a session that waits takes no ROLLBACK"
            )
    everything = (*(sql for _, sql in script.setup), *(step.sql or "" for step in script.steps))
    if any("}" in sql for sql in everything):
        raise _inexpressible("the design's SQL holds a closing brace, which ends a block of SQL there")


def _inexpressible(why: str) -> InputError:
    return InputError(f"this case cannot be expressed as a spec: {why}; --to pytest and --to psql can")


def _ending(script: Script) -> list[Step]:
    """The check, and a ROLLBACK of every transaction that is still open, so that nobody waits for ever."""
    number = len(script.steps)
    check = [] if script.symptom.sql is None else [Step(number + 1, OBSERVER, "VIOLATED", script.symptom.sql)]
    states = {step.session: _leaves_open(step) for step in script.steps}
    opened = [session for session, is_open in states.items() if is_open]
    waiting = {step.session for step in script.steps if step.blocked_by is not None and states.get(step.session)}
    order = sorted(opened, key=lambda session: session in waiting)
    return [*check, *(Step(number + 2 + place, session, "end", "ROLLBACK") for place, session in enumerate(order))]


def _leaves_open(step: Step) -> bool:
    return step.sql is not None and step.sql not in ("COMMIT", "ROLLBACK") and step.session != OBSERVER


def _head(script: Script) -> str:
    symptom = script.symptom
    shows = (
        f'The rows of step "{_name_of(len(script.steps) + 1, OBSERVER, "VIOLATED")}" are the violation: a design that keeps the\n'
        "promise returns none there."
        if symptom.sql is not None
        else f"What step {symptom.step} returns is the violation."
    )
    text = (
        f"{script.title}\n\n{script.explanation}\n\nThe promise: {script.promise}.\n{shows}\n\n"
        "now() tells the times of the run, from a setting: each transaction sets it before it begins. A process that was killed\n"
        "is shown as a ROLLBACK: that is what the server makes of its open transaction. Its next process is another session.\n"
        + "".join(f"\n{name}: {value}" for name, value in script.facts)
    )
    return "\n".join(f"# {line}".rstrip() for line in text.splitlines()) + "\n"


def _session(name: str, script: Script, steps: Sequence[Step]) -> str:
    own = [step for step in steps if step.session == name]
    lines = [f'session "{name}"', "setup", f"{{ {clock.SEARCH_PATH} }}"]
    for step in own:
        lines += [*_comments(step), f'step "{_name(step)}"', "{", *_sql(step, script), "}"]
    return "\n".join(lines) + "\n"


def _comments(step: Step) -> Iterator[str]:
    if step.sql is None:
        yield f"# KILLED: the process of {step.session} dies here" + (
            "; its transaction is rolled back" if step.in_transaction else ", between two transactions"
        )
    if step.blocked_by is not None:
        yield f"# BLOCKED by {step.blocked_by} in the run"
    yield from (f"# {note}" for note in step.notes)
    if step.title == "end":
        yield "# not part of the case: it ends what is still open"


def _sql(step: Step, script: Script) -> Iterator[str]:
    for sent in clock.before(step.begins_at, step.said_at, script.isolation):
        yield f"{sent};"
    if step.sql is None:
        yield "ROLLBACK;" if step.in_transaction else f"SELECT '{step.session} is killed' AS note;"
        return
    sql = step.sql
    for form, literal in step.fed.items():
        sql = sql.replace(form, literal)
    yield f"{sql};"


def _permutation(steps: Sequence[Step]) -> str:
    return "permutation\n" + "\n".join(f'  "{_name(step)}"' for step in steps) + "\n"


def _name(step: Step) -> str:
    return _name_of(step.number, step.session, step.title)


def _name_of(number: int, session: str, title: str) -> str:
    return f"{number} {session} {title}"
