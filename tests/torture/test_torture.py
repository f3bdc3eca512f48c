"""The torture in short: the coordinator is killed six times at random moments, the server three times."""

from __future__ import annotations

import pytest

from tests.torture.kills import Tally
from tests.torture.lab import a_lab
from tests.torture.torture import table, torture

pytestmark = pytest.mark.server


def test_nothing_is_left_wrong_or_lost() -> None:
    troubles: list[str] = []
    with a_lab() as lab:
        tallies = torture(lab, 6, 3, seed=3, told=troubles.append)
    assert all(tally.is_clean for tally in tallies.values()), table(tallies) + "\n".join(troubles)
    assert [tally.kills for tally in tallies.values()] == [6, 3]
    assert sum(tally.cleared for tally in tallies.values()) > 0


@pytest.mark.parametrize("spoilt", [Tally(leftovers=1), Tally(wrong=1), Tally(lost=1), Tally(folders=1)])
def test_what_is_amiss_shows(spoilt: Tally) -> None:
    assert Tally().is_clean
    assert not spoilt.is_clean
