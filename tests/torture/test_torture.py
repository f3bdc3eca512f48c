"""The torture in short: the coordinator is killed six times at random moments, the server three times."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.torture.kills import Tally
from tests.torture.lab import ROOT

pytestmark = pytest.mark.server


def test_nothing_is_left_wrong_or_lost() -> None:
    words = [sys.executable, "-m", "tests.torture", "--coordinator", "6", "--server", "3", "--seed", "3"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    *_, coordinator, server = (line.split() for line in done.stdout.splitlines())
    for row, kills in ((coordinator, "6"), (server, "3")):
        _, killed, folders, opened, _, *amiss = row
        assert (killed, opened, amiss) == (kills, folders, ["0", "0", "0"])
    assert int(coordinator[4]) > 0  # the next command had something to clear, and said so


@pytest.mark.parametrize("spoilt", [Tally(leftovers=1), Tally(wrong=1), Tally(lost=1), Tally(folders=1)])
def test_what_is_amiss_shows(spoilt: Tally) -> None:
    assert Tally().is_clean
    assert not spoilt.is_clean
