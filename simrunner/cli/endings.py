"""The one place where errors become a message and an exit code."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from typing import Any

import click

from simrunner import __version__
from simrunner.cli.output import complain, discard_output, prepare_streams
from simrunner.errors import Interrupted, SimrunnerError

BAD_USAGE = 2
BUG = 70


class Commands(click.Group):
    """A group whose commands return their exit code, and whose errors end as the exit codes of `simrunner.errors`."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command and exit with its code. See click.Command.main."""
        prepare_streams()
        sys.exit(_ending(lambda: super(Commands, self).main(*args, **{**extra, "standalone_mode": False})))


def _ending(command: Callable[[], Any]) -> int:
    """Run a command and return its exit code. No traceback ever reaches the user."""
    try:
        code = command()
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return BAD_USAGE
    except (click.Abort, KeyboardInterrupt):
        complain("Interrupted.")
        return Interrupted.exit_code
    except SimrunnerError as error:
        complain("\n".join([f"Error: {error}", *getattr(error, "__notes__", ())]))
        return error.exit_code
    except BrokenPipeError:
        discard_output()
        return 0
    except Exception:  # noqa: BLE001 - whatever it is, it is ours
        complain(_bug_report(traceback.format_exc()))
        return BUG
    return code if isinstance(code, int) else 0


def _bug_report(text: str) -> str:
    """Keep a traceback in a file of its own and return what to tell the user."""
    last_line = text.strip().rpartition("\n")[2]
    try:
        descriptor, name = tempfile.mkstemp(prefix="simrunner-bug-", suffix=".txt")
        with os.fdopen(descriptor, "w", errors="backslashreplace") as file:
            file.write(f"simrunner {__version__}, Python {sys.version}\n\n{text}")
    except OSError:
        return f"This is a bug in simrunner: {last_line}\nPlease report it with what you did."
    return f"This is a bug in simrunner: {last_line}\nPlease report it with what you did and the file {name}."
