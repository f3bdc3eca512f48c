"""Fills the placeholders of an explanation: `{job:3}` becomes the design's own job id, `{token:5}` the token's text."""

from __future__ import annotations

import re
from collections.abc import Mapping

from simrunner.history.context import Context

_PLACEHOLDER = re.compile(r"\{(job|token|key):(\d+)\}")


def fill_names(text: str, context: Context) -> str:
    """Return `text` with every placeholder replaced by its name; an ordinal without a name stays as `#` and the ordinal."""
    names: dict[str, Mapping[int, str]] = {"job": context.job_names, "token": context.token_names, "key": {}}
    return _PLACEHOLDER.sub(lambda match: _name(names[match[1]], int(match[2])), text)


def job_name(context: Context, job: int | None) -> str | None:
    """Return the design's own id of a job ordinal, `#` and the ordinal where it has none, None for no job."""
    return None if job is None else _name(context.job_names, job)


def token_name(context: Context, token: int | None) -> str | None:
    """Return the text of a token ordinal, `#` and the ordinal where it has none, None for no token."""
    return None if token is None else _name(context.token_names, token)


def _name(names: Mapping[int, str], ordinal: int) -> str:
    return names.get(ordinal, f"#{ordinal}")
