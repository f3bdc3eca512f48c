"""A script as a pytest file that needs nothing but psycopg and a server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from simrunner.search.export import clock
from simrunner.search.export.script import Script, Step
from simrunner.search.export.symptom import ABSENCES

_TEMPLATE = Path(__file__).with_name("case_test.py.txt")
_MENDING = "Mend the design's statements in it, and it passes."
_MENDING_ABSENCE = "It passes when what the design lacks is added to it as a step, such as a recovery."


def pytest_text(script: Script) -> str:
    """Return the file. Its test asserts the promise, so it fails on a design that breaks it."""
    symptom = script.symptom
    values = {
        "TITLE": script.title,
        "EXPLANATION": script.explanation,
        "PROMISE": script.promise,
        "FACTS": "\n".join(f"{name}: {value}" for name, value in script.facts),
        "MENDING": _MENDING_ABSENCE if script.invariant in ABSENCES else _MENDING,
        "NAME": script.invariant.replace("-", "_"),
        "SCHEMA": clock.SCHEMA,
        "SEARCH_PATH": json.dumps(clock.SEARCH_PATH),
        "SETUP": "\n".join(f"    # {name}\n    {_string(sql)}," for name, sql in script.setup),
        "STEPS": "\n".join(_step(step, script) for step in script.steps),
        "CHECK": "None" if symptom.sql is None else _string(symptom.sql),
        "SHOWN_BY": repr(symptom.step),
        "COLUMN": repr(symptom.column),
        "VALUE": repr(symptom.value),
    }
    return re.sub(r"@([A-Z_]+)@", lambda match: values[match[1]], _TEMPLATE.read_text(encoding="utf-8"))


def _step(step: Step, script: Script) -> str:
    notes = "".join(f"    # {note}\n" for note in _notes(step))
    if step.sql is None:
        return f"{notes}    Step({step.session!r}, {step.title!r}, None),"
    before = "".join(f"{sent!r}, " for sent in clock.before(step.begins_at, step.said_at, script.isolation))
    feeds = "".join(f"{form!r}, " for form in step.fed)
    extra = (f", before=({before})" if before else "") + (f", fed=({feeds})" if feeds else "")
    return f"{notes}    Step({step.session!r}, {step.title!r}, {_string(step.sql)}{extra}),"


def _notes(step: Step) -> Iterator[str]:
    yield f"{step.number}."
    if step.blocked_by is not None:
        yield f"in the run it waited for {step.blocked_by}"
    yield from step.notes


def _string(sql: str) -> str:
    """Return SQL as a Python string literal, over several lines where it has some."""
    if "\n" not in sql:
        return repr(sql)
    escaped = sql.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""\n{escaped}\n"""'
