"""The forms in which a script can be written, in the order in which they are offered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from simrunner.errors import InputError
from simrunner.search.export.psql import psql_text
from simrunner.search.export.pytest_file import pytest_text
from simrunner.search.export.script import Script
from simrunner.search.export.spec import spec_text

TEXTS: Mapping[str, Callable[[Script], str]] = {"spec": spec_text, "pytest": pytest_text, "psql": psql_text}
"""What `export --to` may be -> what writes it. Raises InputError for a case that the form cannot express."""


def first_form(script: Script) -> str:
    """Return the first form that can express a script; any script has one."""
    for form, text in TEXTS.items():
        with suppress(InputError):
            text(script)
            return form
    raise AssertionError("pytest and psql express every script")
