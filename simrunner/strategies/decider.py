"""Who decides: the seed (a strategy and placed faults), or a tape that is followed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from simrunner.errors import Divergence
from simrunner.model.tape import FAULTS, KILL, STEP, UNPLANNED, WAKE, Decision
from simrunner.model.view import LaneState, LaneView, View
from simrunner.strategies.strategy import Strategy


class Decider(Protocol):
    """The coordinator's only source of decisions."""

    def decide(self, view: View) -> Decision:
        """Return the next step or fault."""

    def wake(self, view: View, waiters: Sequence[str]) -> Decision:
        """Return which of several waiters goes first."""

    def death(self, view: View) -> str | None:
        """Return who dies now without a decision, as it did when the tape was made."""

    def confirm(self, decision: Decision) -> None:
        """Take note of a decision that follows from the workload alone, such as the next round."""


class SeededDecider:
    """Decides by a strategy, after the faults that are due."""

    def __init__(self, strategy: Strategy, due: Callable[[View], Decision | None]) -> None:
        self._strategy = strategy
        self._due = due

    def decide(self, view: View) -> Decision:
        """See Decider."""
        fault = self._due(view)
        if fault is not None:
            return fault
        actor = self._strategy.next_actor(view)
        return Decision(STEP, actor, next(lane.label for lane in view.lanes if lane.actor == actor))

    def wake(self, view: View, waiters: Sequence[str]) -> Decision:
        """See Decider."""
        return Decision(WAKE, self._strategy.next_waiter(view, waiters))

    def death(self, view: View) -> str | None:
        """See Decider: nobody."""
        return None

    def confirm(self, decision: Decision) -> None:
        """See Decider: nothing to compare with."""


class TapeDecider:
    """Follows a tape exactly and stops at the first step that differs. Raises Divergence."""

    def __init__(self, decisions: Sequence[Decision]) -> None:
        self._decisions = decisions
        self._next = 0

    def decide(self, view: View) -> Decision:
        """See Decider."""
        decision = self._take()
        if decision.kind not in (STEP, *FAULTS):
            raise self._divergence(decision, "a step is due")
        if decision.actor is None:
            return decision
        lane = next((lane for lane in view.lanes if lane.actor == decision.actor), None)
        if lane is None or not _can(decision, lane):
            standing = "is not there" if lane is None else f"is {lane.state} at {lane.label}"
            raise self._divergence(decision, f"{decision.actor} {standing}")
        return decision

    def death(self, view: View) -> str | None:
        """See Decider."""
        following = self._decisions[self._next] if self._next < len(self._decisions) else None
        if following is None or (following.kind, following.label) != (KILL, UNPLANNED):
            return None
        return self.decide(view).actor

    def wake(self, view: View, waiters: Sequence[str]) -> Decision:
        """See Decider."""
        decision = self._take()
        if decision.kind != WAKE or decision.actor not in waiters:
            raise self._divergence(decision, f"a choice among the waiters {', '.join(waiters)} is due")
        return decision

    def confirm(self, decision: Decision) -> None:
        """See Decider."""
        expected = self._take()
        if expected != decision:
            raise self._divergence(expected, f"{_words(decision)} is due")

    def _take(self) -> Decision:
        if self._next >= len(self._decisions):
            raise Divergence(
                f"the tape ends after {self._next} decisions, but the run goes on: design, server or code changed,"
                " or the run on the tape was interrupted there"
            )
        self._next += 1
        return self._decisions[self._next - 1]

    def _divergence(self, expected: Decision, met: str) -> Divergence:
        return Divergence(
            f"step {self._next}: the tape says {_words(expected)}, but {met}."
            " The design, the server or simrunner is not what it was when the tape was made"
        )


def _can(decision: Decision, lane: LaneView) -> bool:
    """Whether the actor stands where it stood when the tape was made."""
    if decision.kind == STEP:
        return lane.state is LaneState.PARKED and lane.label == decision.label
    return lane.state is not LaneState.DEAD and decision.label in (UNPLANNED, lane.crash_point or lane.label)


def _words(decision: Decision) -> str:
    parts = (decision.kind, decision.actor, decision.label, decision.amount, decision.detail)
    return " ".join(str(part) for part in parts if part is not None)
