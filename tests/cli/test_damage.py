"""Whatever happens to a command that runs: nothing stays behind, what was recorded opens, and the message says what happened."""

from __future__ import annotations

import os
import pty
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from simrunner.store.folder import RunFolder
from simrunner.store.schedules import results_in
from tests.cli.invoking import CLEARED, Ended, ended, invoke
from tests.torture.disks import fill, read_only, small_disk
from tests.torture.lab import Lab, a_lab, wait_for

pytestmark = pytest.mark.server

SERVER_DISK_BYTES = 128 << 20
"""A server and the template of its databases take 46 MB, and there are two."""
SMALL = ("--set", "jobs=2", "--set", "safety.rounds=1")
COMMANDS = {
    "run": ("run", "smoke", "--pace", "0.02"),
    "rounds": ("run", "smoke", "--mode", "rounds", "--pace", "0.2", "--set", "liveness.rounds=30"),
    "explore": ("explore", "smoke", "--schedules", "4000", "--jobs", "2", *SMALL),
    "accept": ("claim-boundary", "ordering-single", "ordering-ties", "abandoned-claim", "high-depth"),
}
KEPT = {"run": "simrunner analyze", "rounds": "simrunner analyze", "explore": "--resume", "accept": "simrunner analyze"}
"""What the message says about what was kept, where there is still a place for it."""


@pytest.fixture(scope="module")
def shared_lab() -> Iterator[Lab]:
    with a_lab() as lab:
        yield lab


@pytest.fixture
def lab(shared_lab: Lab) -> Iterator[Lab]:
    """A place without results, in which nothing may be left."""
    shared_lab.clear_results()
    yield shared_lab
    assert shared_lab.left() == []
    assert shared_lab.bug_reports() == []


class Going(NamedTuple):
    """A command that is under way."""

    lab: Lab
    process: subprocess.Popen[str]

    def folder(self) -> Path:
        assert self.lab.latest is not None
        return self.lab.latest

    def end(self) -> Ended:
        return ended(self.process)


def begin(lab: Lab, kind: str, **how: object) -> Going:
    """Start a command and return when it has recorded something."""
    module = "tests.torture.accepting" if kind == "accept" else "tests.torture.command"
    going = Going(lab, lab.popen(*COMMANDS[kind], module=module, **how))
    assert wait_for(going.process, lambda: lab.latest is not None and has_begun(lab.latest, kind)), going.end()
    return going


def has_begun(folder: Path, kind: str) -> bool:
    if kind == "explore":
        return len(results_in(folder)) > 3
    journal = (folder / "experiments/ordering-single" if kind == "accept" else folder) / "events/journal"
    with suppress(FileNotFoundError):
        return journal.stat().st_size > 5000
    return False


def opens(folder: Path) -> str:
    """Open a folder that a command left with `analyze`, and return its status."""
    result = invoke("analyze", folder)
    assert result.exit_code == 3, result.output
    assert result.stdout
    return RunFolder.open(folder).status()


@pytest.mark.parametrize("kind", ["run", "rounds", "accept"])
def test_the_whole_process_group_is_killed(lab: Lab, kind: str) -> None:
    going = begin(lab, kind)
    os.killpg(going.process.pid, signal.SIGKILL)
    assert going.end().code == -signal.SIGKILL
    assert lab.wait_until_gone() == {}
    assert opens(going.folder()) == "interrupted"
    again = lab.run("run", "smoke")
    assert again.code == 0
    assert CLEARED in again.err
    assert "the database simrunner_run_" in again.err


def test_the_next_command_clears_the_slots_of_all_that_were_killed(lab: Lab) -> None:
    """Two coordinators had two servers; the next command needs one."""
    going = begin(lab, "explore")
    os.killpg(going.process.pid, signal.SIGKILL)
    going.end()
    lab.wait_until_gone()
    assert len([one for one in lab.remains() if one.startswith("socket")]) == 2
    assert lab.run("run", "smoke").err.count(CLEARED) == 2


@pytest.mark.parametrize(("kind", "number"), [("run", signal.SIGKILL), ("rounds", signal.SIGQUIT), ("accept", signal.SIGKILL)])
def test_the_server_is_killed(lab: Lab, kind: str, number: signal.Signals) -> None:
    going = begin(lab, kind)
    (server,) = lab.postmasters()
    os.kill(server, number)
    told = going.end()
    assert told.code == (3 if kind == "accept" else 4), told.err
    if kind == "accept":
        assert "decision  INCONCLUSIVE" in told.out
    else:
        assert "Error: " in told.err
        assert KEPT[kind] in told.err
        assert opens(going.folder()) == "failed"


@pytest.mark.parametrize("kind", ["run", "explore", "accept"])
def test_the_results_folder_is_removed(lab: Lab, kind: str) -> None:
    going = begin(lab, kind)
    while lab.results.exists():
        shutil.rmtree(lab.results, ignore_errors=True)
    told = going.end()
    assert told.code == 4, told
    assert "cannot be written: it does not exist or was removed during the run" in told.err
    assert KEPT[kind] not in told.err
    assert not lab.results.exists()


@pytest.mark.parametrize("kind", ["run", "explore", "accept"])
def test_the_disk_is_full(lab: Lab, kind: str) -> None:
    with small_disk(lab.results) as mounted:
        going = begin(lab, kind)
        filler = fill(lab.results, list(lab.processes()), mounted=mounted)
        told = going.end()
        assert told.code == 4, told
        assert "cannot be written: " + ("the disk is full" if mounted else "it may not become larger") in told.err
        assert KEPT[kind] in told.err
        if mounted:
            assert opens(going.folder()) in ("interrupted", "failed")  # still full: it is read as it is
        filler.unlink()
        assert opens(going.folder()) in ("interrupted", "failed")
        assert lab.left() == []


@pytest.fixture
def small_cache() -> Iterator[tuple[Lab, bool]]:
    """A lab whose servers have a small disk, and whether they do."""
    with a_lab() as lab, small_disk(lab.cache / "simrunner", SERVER_DISK_BYTES) as mounted:
        yield lab, mounted


@pytest.mark.parametrize("kind", ["run", "accept"])
def test_the_disk_of_the_server_is_full(small_cache: tuple[Lab, bool], kind: str) -> None:
    """It is told which one; nothing stays behind, and with room the next command works. See tests/runtime/test_shortage.py."""
    lab, mounted = small_cache
    going = begin(lab, kind)
    filler = fill(lab.cache / "simrunner", [], mounted=mounted)
    told = going.end()
    filler.unlink()
    assert lab.left() == []
    if mounted:
        assert told.code == 4, told
        assert f"The disk of {lab.cache}/simrunner, where the server's files are, is full: free space there" in told.err
        assert KEPT[kind] in told.err
    assert lab.run("run", "smoke").code == 0


def test_the_disk_of_the_server_has_too_little_room_for_one() -> None:
    with a_lab() as lab, small_disk(lab.cache / "simrunner", SERVER_DISK_BYTES // 4) as mounted:
        told = lab.run("run", "smoke")
        assert (told.code, "where the server's files are, is full" in told.err) == (4 * mounted, mounted)
        assert lab.left() == []


@pytest.mark.parametrize("kind", ["run", "explore", "accept"])
def test_the_results_folder_is_read_only(lab: Lab, kind: str) -> None:
    with read_only(lab.results) as place:
        if kind == "accept":
            told = ended(lab.popen("claim-boundary", module="tests.torture.accepting"))
        else:
            told = lab.run(*COMMANDS[kind], "--results", place)
    assert told.code == 4, told
    assert "cannot be written" in told.err
    assert "choose" in told.err


@pytest.mark.parametrize("kind", ["run", "explore"])
def test_the_terminal_goes_away(lab: Lab, kind: str) -> None:
    """The kernel sends SIGHUP, and whatever is written afterwards fails."""
    ours, theirs = pty.openpty()
    line = {"stdin": theirs, "stdout": theirs, "stderr": theirs, "start_new_session": False}
    going = begin(lab, kind, **line, preexec_fn=lambda: os.login_tty(theirs))
    os.close(theirs)
    os.close(ours)
    going.process.wait()
    assert going.process.returncode == 3
    assert opens(going.folder()) == "interrupted"


@pytest.mark.parametrize("kind", COMMANDS)
def test_ctrl_c_comes_twice(lab: Lab, kind: str) -> None:
    """The whole group gets it, as on a terminal, at a random moment, and again before the first was dealt with."""
    draw = random.Random(kind)
    going = begin(lab, kind)
    time.sleep(draw.uniform(0, 0.2))
    for pause in (draw.uniform(0, 0.05), draw.uniform(0, 0.6)):
        os.killpg(going.process.pid, signal.SIGINT)
        time.sleep(pause)
    with suppress(ProcessLookupError):
        os.killpg(going.process.pid, signal.SIGINT)
    told = going.end()
    assert told.code == 3, told
    assert "was ended early by SIGINT" in told.err
    assert KEPT[kind] in told.err
    assert opens(going.folder()) == "interrupted"


def test_two_runs_start_at_once(lab: Lab) -> None:
    """Where there is nothing yet: neither a cache nor a results folder."""
    shutil.rmtree(lab.cache / "simrunner", ignore_errors=True)
    both = [lab.popen("run", "smoke", "--json") for _ in range(2)]
    told = [ended(one) for one in both]
    assert [one.code for one in told] == [0, 0], told
    documents = [one.json() for one in told]
    assert len({document["history_sha256"] for document in documents}) == 1
    assert len({document["folder"] for document in documents}) == 2
    assert str(lab.latest) in {document["folder"] for document in documents}
