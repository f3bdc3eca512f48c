"""A schedule as round-robin and a list of deviations from it, so that an edited schedule can always be run.

A deviation that names an actor that cannot go is skipped, and from there on it is everybody's turn again. `Deviating` runs such
a schedule; `Noting` follows a tape or a loose order of actors and notes the deviations that it consists of.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from simrunner.model.tape import FAULTS, KILL, ROUND, STEP, WAKE, Decision
from simrunner.model.view import LaneState, LaneView, View
from simrunner.strategies.decider import Decider

HOLD = "hold"


class Deviation(NamedTuple):
    """One decision that differs from round-robin."""

    kind: str
    """STEP: `actor` goes, though it is another's turn. HOLD: it is put off until nobody else can go in that round. WAKE: it goes
    first among several waiters. A fault: it strikes."""
    round: int
    """Of a fault: the first round in which it strikes."""
    place: int
    """STEP, HOLD, WAKE: at which step, or choice among waiters, of that round, from 1. A fault: 0."""
    actor: str
    """Of a fault that is about no actor: empty."""
    at: str | None = None
    """A fault: the crash point, or else the label of the step, at which it strikes; None: while the actor is blocked."""
    amount: int | None = None
    detail: str | None = None
    """A fault: what else its command says."""

    @property
    def is_fault(self) -> bool:
        """Whether it is a fault, and not a matter of order."""
        return self.kind in FAULTS


class Turns:
    """Whose turn it is: everybody in declared order, one step each, from whoever went last on. As the strategy round-robin."""

    def __init__(self) -> None:
        self._last = -1

    def due(self, view: View, held: Collection[str] = ()) -> str:
        """Return whose turn it is; those that are held get none as long as another can go."""
        able = [lane.actor for lane in view.enabled()]
        enabled = [actor for actor in able if actor not in held] or able
        order = [lane.actor for lane in view.lanes]
        return next((actor for actor in enabled if order.index(actor) > self._last), enabled[0])

    def went(self, view: View, actor: str) -> None:
        """Take note of who goes."""
        self._last = [lane.actor for lane in view.lanes].index(actor)


class Places:
    """Counts the steps and the choices among waiters of each round."""

    def __init__(self) -> None:
        self._round = -1
        self._counts: dict[str, int] = {}

    def next(self, view: View, kind: str) -> int:
        """Return the place of what is decided now."""
        if view.round != self._round:
            self._round, self._counts = view.round, {}
        self._counts[kind] = self._counts.get(kind, 0) + 1
        return self._counts[kind]


class Deviating:
    """Decides round-robin, but for the deviations. See Decider."""

    def __init__(self, deviations: Sequence[Deviation]) -> None:
        self._turns = Turns()
        self._places = Places()
        self._faults = [deviation for deviation in deviations if deviation.is_fault]
        self._chosen = {(one.kind, one.round, one.place): one.actor for one in deviations if one.kind in (STEP, WAKE)}
        self._holds = {(one.round, one.place): one.actor for one in deviations if one.kind == HOLD}
        self._held: dict[str, int] = {}
        """Who is put off, and in which round."""

    def decide(self, view: View) -> Decision:
        """See Decider."""
        for fault in self._faults:
            struck = next((lane for lane in view.lanes if _strikes(fault, lane, view)), None)
            if struck is not None:
                self._faults.remove(fault)
                label = struck.crash_point or struck.label
                return Decision(fault.kind, fault.actor or None, label, fault.amount, fault.detail)
        place = self._places.next(view, STEP)
        actor = self._out_of_turn(view, place) or self._turns.due(view, self._held_in(view.round, place))
        self._held.pop(actor, None)
        self._turns.went(view, actor)
        return _step(view, actor)

    def _out_of_turn(self, view: View, place: int) -> str | None:
        wanted = self._chosen.get((STEP, view.round, place))
        return wanted if any(lane.actor == wanted for lane in view.enabled()) else None

    def _held_in(self, round_: int, place: int) -> list[str]:
        begins = self._holds.get((round_, place))
        if begins is not None:
            self._held[begins] = round_
        return [actor for actor, since in self._held.items() if since == round_]

    def wake(self, view: View, waiters: Sequence[str]) -> Decision:
        """See Decider."""
        wanted = self._chosen.get((WAKE, view.round, self._places.next(view, WAKE)))
        return Decision(WAKE, wanted if wanted in waiters else waiters[0])

    def death(self, view: View) -> str | None:
        """See Decider: nobody."""
        return None

    def confirm(self, decision: Decision) -> None:
        """See Decider: nothing to compare with."""


class Noting:
    """Lets another decide and notes where that deviates from round-robin."""

    def __init__(self, decider: Decider) -> None:
        self._decider = decider
        self._turns = Turns()
        self._places = Places()
        self.deviations: list[Deviation] = []

    def decide(self, view: View) -> Decision:
        """See Decider."""
        decision = self._decider.decide(view)
        actor = decision.actor or ""
        if decision.kind in FAULTS:
            self._note_fault(view, decision)
            return decision
        place = self._places.next(view, STEP)
        if actor != self._turns.due(view):
            self.deviations.append(Deviation(STEP, view.round, place, actor))
        self._turns.went(view, actor)
        return decision

    def wake(self, view: View, waiters: Sequence[str]) -> Decision:
        """See Decider."""
        decision = self._decider.wake(view, waiters)
        place = self._places.next(view, WAKE)
        if decision.actor is not None and decision.actor != waiters[0]:
            self.deviations.append(Deviation(WAKE, view.round, place, decision.actor))
        return decision

    def death(self, view: View) -> str | None:
        """See Decider."""
        actor = self._decider.death(view)
        if actor is not None:
            self._note_fault(view, Decision(KILL, actor))
        return actor

    def confirm(self, decision: Decision) -> None:
        """See Decider."""
        self._decider.confirm(decision)

    def _note_fault(self, view: View, fault: Decision) -> None:
        lane = next((lane for lane in view.lanes if lane.actor == fault.actor), None)
        at = fault.label if lane is None else lane.crash_point or lane.label
        self.deviations.append(Deviation(fault.kind, view.round, 0, fault.actor or "", at, fault.amount, fault.detail))


class Loose:
    """Lets actors go in the order of a tape as far as they can, whatever else has changed, and round-robin beyond."""

    def __init__(self, decisions: Sequence[Decision], faults: Sequence[Deviation]) -> None:
        self._order = _actors_by_round(decisions)
        self._faults = Deviating(faults)
        self._turns = Turns()

    def decide(self, view: View) -> Decision:
        """See Decider."""
        decision = self._faults.decide(view)
        if decision.kind in FAULTS:
            return decision
        enabled = [lane.actor for lane in view.enabled()]
        actor = self._next(view.round, enabled) or self._turns.due(view)
        self._turns.went(view, actor)
        return _step(view, actor)

    def wake(self, view: View, waiters: Sequence[str]) -> Decision:
        """See Decider: the first in declared order."""
        return Decision(WAKE, waiters[0])

    def death(self, view: View) -> str | None:
        """See Decider: nobody."""
        return None

    def confirm(self, decision: Decision) -> None:
        """See Decider: nothing to compare with."""

    def _next(self, round_: int, enabled: Sequence[str]) -> str | None:
        """The next actor in the order that can go; those before it that cannot are passed over for good."""
        order = self._order.get(round_, [])
        while order:
            actor = order.pop(0)
            if actor in enabled:
                return actor
        return None


def _actors_by_round(decisions: Sequence[Decision]) -> dict[int, list[str]]:
    """Who took the steps of each round, without those that coalesce."""
    order: dict[int, list[str]] = {}
    round_ = 0
    for decision in decisions:
        if decision.kind == ROUND:
            round_ = decision.amount or 0
        elif decision.kind == STEP and decision.actor is not None and not _coalesces(decision.label or ""):
            order.setdefault(round_, []).append(decision.actor)
    return order


def _coalesces(label: str) -> bool:
    return label.endswith(":BEGIN") or label in ("work-start", "work-end")


def _strikes(fault: Deviation, lane: LaneView, view: View) -> bool:
    if fault.actor not in ("", lane.actor) or view.round < fault.round or lane.state is LaneState.DEAD:
        return False
    if fault.at is None:
        return lane.state is LaneState.BLOCKED
    still = (LaneState.PARKED, LaneState.RESTING, *((LaneState.PAUSED,) if fault.kind == KILL else ()))
    return lane.state in still and fault.at in (lane.crash_point, lane.label)


def _step(view: View, actor: str) -> Decision:
    return Decision(STEP, actor, next(lane.label for lane in view.lanes if lane.actor == actor))
