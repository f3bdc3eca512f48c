"""Near misses: what somebody who mistyped a name may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def near_misses(name: str, known: Iterable[str]) -> list[str]:
    """Return up to three known names that resemble `name` as a whole or in their last part (after `/` or `.`), best first."""
    names = sorted(map(str, known))
    whole = difflib.get_close_matches(name, names, n=3)
    last = _last(name)
    by_last = [
        other
        for close in difflib.get_close_matches(last, sorted(map(_last, names)), n=3)
        for other in names
        if _last(other) == close
    ]
    return list(dict.fromkeys([*whole, *by_last]))[:3]


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a sentence part such as `did you mean 'claim'? Known: claim, seed`; the list is sorted."""
    names = sorted(map(str, known))
    close = near_misses(name, names)
    meant = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
    return f"{meant}Known: {', '.join(names) or 'none'}"


def _last(name: str) -> str:
    return name.replace(".", "/").rsplit("/", 1)[-1]
