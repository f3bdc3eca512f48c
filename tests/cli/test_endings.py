"""How commands end: one exit code for each kind of end, and never a traceback."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from simrunner import __version__, errors
from simrunner.cli import main
from simrunner.cli.endings import Commands
from simrunner.cli.signals import handlers_kept, interruptible
from simrunner.runtime.holding import ENDING
from tests.cli.invoking import command, invoke, program

SUBCLASSES = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, errors.SimrunnerError)]


def ending_with(what: BaseException | int) -> click.Group:
    @click.group(cls=Commands)
    def group() -> None:
        pass

    @group.command()
    def act() -> int:
        if isinstance(what, int):
            return what
        raise what

    return group


@pytest.mark.parametrize("kind", SUBCLASSES)
def test_every_error_ends_with_its_code(kind: type[errors.SimrunnerError]) -> None:
    error = kind("what happened")
    error.add_note("what to type")
    result = CliRunner().invoke(ending_with(error), ["act"])
    assert result.exit_code == kind.exit_code
    assert result.stderr == "Error: what happened\nwhat to type\n"


@pytest.mark.parametrize("code", [0, 1, 3])
def test_a_command_returns_its_code(code: int) -> None:
    assert CliRunner().invoke(ending_with(code), ["act"]).exit_code == code


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt(), click.Abort()])
def test_an_interrupt_is_not_a_violation(interrupt: BaseException) -> None:
    result = CliRunner().invoke(ending_with(interrupt), ["act"])
    assert (result.exit_code, result.stderr.strip()) == (3, "Interrupted.")


def test_a_bug_keeps_its_traceback_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    result = CliRunner().invoke(ending_with(ZeroDivisionError("division by zero")), ["act"])
    assert result.exit_code == 70
    (kept,) = tmp_path.iterdir()
    assert result.stderr.splitlines() == [
        "This is a bug in simrunner: ZeroDivisionError: division by zero",
        f"Please report it with what you did and the file {kept}.",
    ]
    assert "Traceback" in kept.read_text()


def test_a_bug_without_a_place_for_its_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    result = CliRunner().invoke(ending_with(ZeroDivisionError("division by zero")), ["act"])
    assert (result.exit_code, "Traceback" in result.stderr, "Please report" in result.stderr) == (70, False, True)


def test_every_usage_error_is_2() -> None:
    assert CliRunner().invoke(ending_with(click.ClickException("no")), ["act"]).exit_code == 2
    assert CliRunner().invoke(ending_with(click.UsageError("no")), ["act"]).exit_code == 2


def test_a_reader_that_went_away_is_no_error(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    with subprocess.Popen(
        command("list", "invariants"), stdout=write, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    ) as process:
        os.close(write)
        _, err = process.communicate()
    assert (process.returncode, err) == (0, "")


def test_a_full_disk_under_the_output_is_an_error(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command("list", "faults"), stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path, check=False
        )
    assert (done.returncode, done.stderr) == (4, "Error: the output cannot be written: No space left on device\n")


def test_closed_output(tmp_path: Path) -> None:
    code = f"exec {shlex.quote(sys.executable)} -m simrunner list faults >&- 2>&-"
    assert subprocess.run(["sh", "-c", code], cwd=tmp_path, check=False).returncode == 0


def test_an_encoding_that_lacks_letters(tmp_path: Path) -> None:
    (tmp_path / "workloads").mkdir()
    (tmp_path / "workloads/to→do.toml").write_text('title = "x"')
    ended = program("list", "workloads", cwd=tmp_path, PYTHONIOENCODING="latin-1")
    assert ended.code == 0
    assert "to\\u2192do" in ended.out


def cleaned_up_under_fire(number: int) -> None:
    """Be interrupted, and again and again while cleaning up."""
    with interruptible():
        try:
            signal.raise_signal(number)
        finally:
            for again in ENDING:
                signal.raise_signal(again)


@pytest.mark.parametrize("number", ENDING)
def test_the_first_signal_interrupts_and_later_ones_do_not(number: int) -> None:
    """Not until the command has said how it ended, either."""
    with handlers_kept():
        with pytest.raises(errors.Interrupted, match=signal.Signals(number).name):
            cleaned_up_under_fire(number)
        assert {signal.getsignal(one) for one in ENDING} == {signal.SIG_IGN}


def test_signals_are_heard_again_after_a_block_without_one() -> None:
    before = [signal.getsignal(number) for number in ENDING]
    with interruptible():
        pass
    assert [signal.getsignal(number) for number in ENDING] == before


def test_a_signal_that_was_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible():
            signal.raise_signal(signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("words", [["--help"], *([name, "--help"] for name in main.commands)])
def test_help_loads_nothing_heavy(words: list[str]) -> None:
    code = (
        "import sys\nfrom simrunner.cli import main\n"
        f"try: main({words!r}, prog_name='simrunner')\n"
        "except SystemExit as ended: code = ended.code\n"
        "print(sorted({'numpy', 'pandas', 'pyarrow', 'psycopg', 'sqlglot'} & set(sys.modules)), code, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "[] 0"


def test_what_a_run_loads_before_it_forks() -> None:
    code = (
        "import sys\nimport simrunner.cli.run, simrunner.cli.playing, simrunner.cli.replay, simrunner.search.request\n"
        "print(sorted({'numpy', 'pandas', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_version() -> None:
    assert invoke("--version").stdout.strip() == f"simrunner, version {__version__}"
