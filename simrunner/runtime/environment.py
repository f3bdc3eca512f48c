"""Hides libpq's environment variables: a session of a run must not depend on what the user's shell exports."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

SESSION_VARIABLES = ("PGTZ", "PGDATESTYLE", "PGGEQO")
"""They set parameters of the session and no connection string overrides them:
https://www.postgresql.org/docs/18/libpq-envars.html"""


def libpq_variables() -> tuple[str, ...]:
    """Return the names of all variables that libpq might read."""
    return tuple(name for name in os.environ if name.startswith("PG"))


@contextmanager
def hidden(names: tuple[str, ...]) -> Iterator[None]:
    """Take variables out of the environment, of later children too, and put them back at the end."""
    saved = {name: os.environ.pop(name) for name in names if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(saved)
