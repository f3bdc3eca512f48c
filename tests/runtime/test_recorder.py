"""What is acknowledged is in the journal once, also when a signal strikes in the middle of a write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from simrunner.errors import Interrupted
from simrunner.model.draws import Draws
from simrunner.model.event import Event
from simrunner.model.tape import STEP, Decision, Draw
from simrunner.runtime.recorder import Recorder
from simrunner.store.journal import Journal, read_journal


class Struck(Journal):
    """A journal whose first append is interrupted right after its write, as by the handler of a signal."""

    is_struck = False

    def append(
        self,
        events: Sequence[Event],
        names: Sequence[tuple[str, int, str]] = (),
        decisions: Sequence[Decision] = (),
        draws: Sequence[Draw] = (),
    ) -> None:
        super().append(events, names, decisions, draws)
        if not self.is_struck:
            self.is_struck = True
            raise Interrupted("the run was ended early by SIGINT")


def half(recorder: Recorder) -> None:
    with recorder.whole():
        recorder.event("ok", value="COMMIT")
        recorder.change("transition")
        raise Interrupted("in between")


def test_what_belongs_together_is_recorded_whole_or_not_at_all(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    recorder = Recorder(journal, Draws(1), 0)
    recorder.event("sent", value="COMMIT")
    with pytest.raises(Interrupted):
        half(recorder)
    assert (recorder.seq, recorder.last_change_seq) == (1, 0)
    with recorder.whole():
        recorder.change("transition")
    recorder.flush()
    journal.close()
    assert [(event.seq, event.kind) for event in read_journal(tmp_path / "journal")[0]] == [(1, "sent"), (2, "transition")]


def test_an_interrupted_write_is_not_repeated(tmp_path: Path) -> None:
    journal = Struck(tmp_path / "journal")
    recorder = Recorder(journal, Draws(1), 0)
    recorder.event("run", value="start", job=recorder.job("17"))
    with pytest.raises(Interrupted):
        recorder.decide(Decision(STEP, "worker-a", "claim:1"))
    recorder.flush()  # the clean-up
    journal.close()
    events, names = read_journal(tmp_path / "journal")
    assert [event.seq for event in events] == [1]
    assert names["job"] == {1: "17"}
