"""Tapes: round trips, and what is not a tape."""

from pathlib import Path

import pytest
from hypothesis import given, settings

from simrunner.errors import TapeError
from simrunner.model.tape import TAPE_SCHEMA, Decision, Draw
from simrunner.store.folder import RunFolder
from simrunner.store.tape import Tape, read_tape, tape_of, write_tape
from tests.store.folders import DECISIONS, DRAWS, SETUP, recorded
from tests.store.strategies import DECISION_LISTS
from tests.store.strategies import DRAWS as DRAW_LISTS

TAPE = Tape(SETUP, DECISIONS, DRAWS)


@settings(deadline=None)
@given(decisions=DECISION_LISTS, draws=DRAW_LISTS)
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, decisions: list[Decision], draws: list[Draw]) -> None:
    path = tmp_path_factory.mktemp("tape") / "tape.json"
    tape = Tape(SETUP, tuple(decisions), tuple(draws))
    write_tape(path, tape)
    assert read_tape(path) == tape


def test_one_decision_a_line(tmp_path: Path) -> None:
    write_tape(tmp_path / "tape.json", TAPE)
    assert '    ["step","worker-a","claim:1",null,null],' in (tmp_path / "tape.json").read_text().splitlines()


def test_a_run_folder_has_a_tape_even_if_it_was_interrupted(tmp_path: Path) -> None:
    folder = recorded(tmp_path, complete=False)
    assert read_tape(folder.path) == tape_of(folder) == TAPE


def test_a_run_that_never_began_has_none(tmp_path: Path) -> None:
    folder = recorded(tmp_path, complete=False)
    run = folder.run()
    del run["strategy"]
    folder.write_json("run.json", run)
    with pytest.raises(TapeError, match=r"before it was set up.*strategy"):
        read_tape(folder.path)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (f'"schema": {TAPE_SCHEMA}', '"schema": 999', "newer simrunner"),
        ('"schema"', '"scheme"', "no schema number"),
        ('"seed": 7', '"seed": "seven"', "seed"),
        ('"kill"', '"kiss"', "decision 3 is of no known kind: 'kiss'"),
        ('"draws"', '"drawn"', "draws"),
        ("{", "[", "truncated or not JSON"),
    ],
)
def test_what_is_not_a_tape_is_refused(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    path = tmp_path / "tape.json"
    write_tape(path, TAPE)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(TapeError, match=complaint) as caught:
        read_tape(path)
    assert str(path) in str(caught.value)


def test_truncated_and_missing_tapes_are_named(tmp_path: Path) -> None:
    path = tmp_path / "tape.json"
    write_tape(path, TAPE)
    text = path.read_bytes()
    for length in range(0, len(text) - 2, 13):
        path.write_bytes(text[:length])
        with pytest.raises(TapeError, match=r"tape\.json: is truncated"):
            read_tape(path)
    with pytest.raises(TapeError, match=r"nowhere\.json: cannot be read"):
        read_tape(tmp_path / "nowhere.json")


def test_the_coordinators_own_tape_wins(tmp_path: Path) -> None:
    folder = recorded(tmp_path)
    own = Tape(SETUP, DECISIONS[:1], ())
    write_tape(folder.path / "tape.json", own)
    assert tape_of(RunFolder.open(folder.path)) == own
