"""What a spec says, as written: blocks of SQL, sessions with steps, permutations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Place(NamedTuple):
    """Where something begins in the file. Both count from 1; columns are characters."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Block:
    """The SQL of a setup or teardown, sent as one message."""

    sql: str
    place: Place


@dataclass(frozen=True, slots=True)
class Step:
    """A named piece of SQL of one session, sent as one message."""

    name: str
    sql: str
    session: int
    """Index of its session in `Spec.sessions`."""
    place: Place


@dataclass(frozen=True, slots=True)
class Session:
    """One connection and what it does."""

    name: str
    setup: Block | None
    steps: tuple[Step, ...]
    teardown: Block | None


@dataclass(frozen=True, slots=True)
class Marker:
    """What delays the report that a step has completed: `*`, `step` or `step notices n`."""

    step: str | None
    """None: `*`, the step is reported as waiting once, whether it waits or not."""
    notices: int | None
    """None: until that step has ended; otherwise until its session has sent so many notices."""
    place: Place


@dataclass(frozen=True, slots=True)
class Mention:
    """A step named in a permutation, with its markers."""

    step: str
    markers: tuple[Marker, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Spec:
    """A whole file. Text that is not UTF-8 is kept as surrogate escapes."""

    setups: tuple[Block, ...]
    teardown: Block | None
    sessions: tuple[Session, ...]
    permutations: tuple[tuple[Mention, ...], ...]
    """Empty: all interleavings of the sessions' steps."""
