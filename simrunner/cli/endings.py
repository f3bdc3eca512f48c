"""The one place where errors become a message and an exit code."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import click

from simrunner import __version__
from simrunner.cli.output import complain, discard_output, prepare_streams
from simrunner.cli.signals import handlers_kept, ignore
from simrunner.errors import Interrupted, SimrunnerError

BAD_USAGE = 2
BUG = 70


class Commands(click.Group):
    """A group whose commands return their exit code, and whose errors end as the exit codes of `simrunner.errors`."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command and exit with its code. See click.Command.main.

        Without arguments those of the program are meant, which ends here: what comes after the last word is not to be
        interrupted either.
        """
        prepare_streams()
        is_program = not args and extra.get("args") is None
        with nullcontext() if is_program else handlers_kept():
            code = ending(lambda: super(Commands, self).main(*args, **{**extra, "standalone_mode": False}))
        sys.exit(code)


def ending(command: Callable[[], Any]) -> int:
    """Run a command and return its exit code. No traceback ever reaches the user, and no second Ctrl-C cuts off the last word."""
    code, last_word = _outcome(command)
    ignore()
    last_word()
    return code


def _outcome(command: Callable[[], Any]) -> tuple[int, Callable[[], object]]:
    """Run a command. Returns its exit code and what says why."""
    try:
        code = command()
        sys.stdout.flush()
    except click.ClickException as error:
        return BAD_USAGE, error.show
    except (click.Abort, KeyboardInterrupt):
        return Interrupted.exit_code, partial(complain, "Interrupted.")
    except SimrunnerError as error:
        return error.exit_code, partial(complain, f"Error: {error.in_full}")
    except BrokenPipeError:
        return 0, discard_output
    except Exception:  # noqa: BLE001 - whatever it is, it is ours
        return BUG, partial(complain, _bug_report(traceback.format_exc()))
    return code if isinstance(code, int) else 0, lambda: None


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
