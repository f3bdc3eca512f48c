"""The error tree. Every class carries the exit code that the command line ends with.

SimrunnerError
├── InputError            2   something the user wrote or named is wrong
│   ├── DesignError           a design folder, its design.toml or one of its SQL files
│   ├── WorkloadError         a workload file or a --set value
│   ├── RunFolderError        a run folder that is missing, damaged, newer or not ours
│   └── TapeError             a tape of another design, workload, version or schema
├── EnvironmentFailure    4   the machine, the server or the database
│   ├── ServerError           the embedded server cannot be prepared, started or reached
│   ├── DatabaseRefused       a database behind --dsn that simrunner must not touch
│   ├── StepStuck             a step neither finished nor is blocked within its limit
│   └── RecordingFailed       the run folder cannot be written
├── Divergence            3   a replay met another step than its tape says
└── Interrupted           3   Ctrl-C, SIGTERM or SIGHUP ended the run early

Anything else that reaches the top is a bug in simrunner and ends with exit code 70.
"""

from __future__ import annotations

from pathlib import Path

_LONGEST, _HEAD, _TAIL = 4000, 3000, 900
"""Characters of a message; of a longer one, which quotes something huge, so many of its beginning and its end."""


class SimrunnerError(Exception):
    """Base of everything simrunner raises on purpose; the message says what happened and what to do.

    It may quote what somebody wrote: what a terminal would not show, or obey, is escaped, and what nobody would read left out.
    """

    exit_code = 70

    def __init__(self, message: str) -> None:
        shown = printable(message)
        super().__init__(shown if len(shown) <= _LONGEST else f"{shown[:_HEAD]} ... {shown[-_TAIL:]}")

    @property
    def in_full(self) -> str:
        """The message and, each in a line of its own, its notes."""
        return "\n".join([str(self), *getattr(self, "__notes__", ())])


def printable(text: str) -> str:
    """Return a text with what a terminal would not show, or obey, escaped; line feeds and tabs stay."""
    return "".join(each if each.isprintable() or each in "\n\t" else ascii(each)[1:-1] for each in text)


class InputError(SimrunnerError):
    """Something the user wrote or named is wrong; nothing was started.

    `place` names the file, with `:line` or a key where one is known, and is put before the message.
    """

    exit_code = 2

    def __init__(self, message: str, *, place: str | Path | None = None) -> None:
        self.place = None if place is None else str(place)
        self.message = message
        super().__init__(message if place is None else f"{place}: {message}")


class DesignError(InputError):
    """A design folder, its design.toml or one of its SQL files is wrong."""


class WorkloadError(InputError):
    """A workload file or a --set value is wrong."""


class RunFolderError(InputError):
    """A run folder is missing, damaged, of a newer schema, or not simrunner's."""


class TapeError(InputError):
    """A tape belongs to another design, workload, version or schema."""


class EnvironmentFailure(SimrunnerError):
    """The machine, the server or the database failed; the run's question is not answered."""

    exit_code = 4


class ServerError(EnvironmentFailure):
    """The embedded or external PostgreSQL cannot be prepared, started or reached."""


class DatabaseRefused(EnvironmentFailure):
    """The database behind --dsn is not empty or not named on purpose; nothing in it was touched."""


class StepStuck(EnvironmentFailure):
    """A released step neither finished nor is blocked by another actor within its limit."""


class RecordingFailed(EnvironmentFailure):
    """The run folder cannot be written (disk full, read-only, removed)."""


class Divergence(SimrunnerError):
    """A replay met another step than its tape says: design, server or code changed."""

    exit_code = 3


class Interrupted(SimrunnerError):
    """The run was ended early from outside; what was recorded is kept."""

    exit_code = 3
