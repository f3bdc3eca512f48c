"""Turns what happens into events: total order, ordinals of first appearance, one journal write per decision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import time_ns
from typing import Any, Protocol

from simrunner.model.draws import Draws
from simrunner.model.event import Event
from simrunner.model.tape import Decision, Draw

STEP_TICK_US = 1000
"""The virtual clock ticks at every step."""


class Ledger(Protocol):
    """Where events are acknowledged: a journal on disk, or the memory of a campaign."""

    def append(
        self,
        events: Sequence[Event],
        names: Sequence[tuple[str, int, str]] = (),
        decisions: Sequence[Decision] = (),
        draws: Sequence[Draw] = (),
    ) -> None:
        """Keep records; when it returns they are acknowledged."""


class Recorder:
    """The only writer of a run's history.

    `now_us` is the virtual time. Events are kept until `flush`, which is called before the next decision is taken: an event is
    acknowledged only when it is in the journal.
    """

    def __init__(self, journal: Ledger, draws: Draws, now_us: int) -> None:
        self.now_us = now_us
        self.phase = "setup"
        self.round: int | None = None
        self.seq = 0
        self.step = 0
        self.last_change_seq = 0
        """seq of the last committed change: what a statement sent now sees."""
        self.decisions: list[Decision] = []
        self._journal = journal
        self._draws = draws
        self._written_draws = 0
        self._written_decisions = 0
        self._events: list[Event] = []
        self._names: list[tuple[str, int, str]] = []
        self._ordinals: dict[str, dict[str, int]] = {"job": {}, "token": {}, "key": {}}

    def decide(self, decision: Decision) -> None:
        """Take the next decision: what follows is its step."""
        self.flush()
        self.step += 1
        self.decisions.append(decision)

    def tick(self) -> None:
        """Let virtual time pass for a step."""
        self.now_us += STEP_TICK_US

    def event(self, kind: str, **columns: Any) -> int:
        """Record one event and return its seq. Columns are those of Event; jobs, tokens and keys are ordinals."""
        self.seq += 1
        self._events.append(
            Event(
                seq=self.seq,
                phase=self.phase,
                round=self.round,
                step=self.step or None,
                kind=kind,
                virtual_time=self.now_us,
                wall_time=time_ns() // 1000,
                **columns,
            )
        )
        return self.seq

    def change(self, kind: str, **columns: Any) -> None:
        """Record a committed change: from here on statements see it."""
        self.last_change_seq = self.event(kind, **columns)

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Record what belongs together, or nothing of it: a commit of which the changes were not read yet is half the truth."""
        events, length = self._events, len(self._events)
        seq, last_change_seq = self.seq, self.last_change_seq
        try:
            yield
        except BaseException:
            if self._events is events:  # nothing was flushed meanwhile
                del events[length:]
                self.seq, self.last_change_seq = seq, last_change_seq
            raise

    def job(self, text: str | None) -> int | None:
        """Ordinal of a job id."""
        return self._ordinal("job", text)

    def token(self, text: str | None) -> int | None:
        """Ordinal of a token."""
        return self._ordinal("token", text)

    def key(self, text: str | None) -> int | None:
        """Ordinal of a key."""
        return self._ordinal("key", text)

    def flush(self) -> None:
        """Append what is pending to the journal with one write. Raises RecordingFailed.

        What is handed over is pending no longer, whatever interrupts the write: the flush of the clean-up must not repeat it.
        """
        decisions = self.decisions[self._written_decisions :]
        draws = self._draws.recorded[self._written_draws :]
        events, names = self._events, self._names
        if events or names or decisions or draws:
            self._events, self._names = [], []
            self._written_decisions += len(decisions)
            self._written_draws += len(draws)
            self._journal.append(events, names, decisions, draws)

    def _ordinal(self, kind: str, text: str | None) -> int | None:
        if text is None:
            return None
        known = self._ordinals[kind]
        ordinal = known.get(text)
        if ordinal is None:
            ordinal = known[text] = len(known) + 1
            self._names.append((kind, ordinal, text))
        return ordinal
