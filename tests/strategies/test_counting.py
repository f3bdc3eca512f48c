"""Counting the schedules of an exhaustive search: known numbers, and the search itself on actors without a database."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import pytest

from simrunner.model.tape import KILL
from simrunner.model.view import LaneState, LaneView, View
from simrunner.strategies.counting import Turn, interleavings
from simrunner.strategies.exhaustive import ExhaustiveDecider, next_prefix
from simrunner.strategies.surveyor import Surveyor
from tests.strategies.views import lane

POINTS = frozenset({"p"})


def turn(text: str) -> Turn:
    """`x.x`: may be killed before its first step, not before its second, and at rest behind it."""
    return tuple(letter == "x" for letter in text)


def test_without_kills_it_is_a_multinomial() -> None:
    assert interleavings([[turn("..."), turn("...")]], 0) == comb(4, 2)
    assert interleavings([[turn("......."), turn(".......")]], 0) == comb(12, 6)
    assert interleavings([[turn("..")] * 3], 0) == 6


def test_rounds_multiply() -> None:
    assert interleavings([[turn("..."), turn("...")], [turn(".."), turn("..")]], 0) == 6 * 2


def test_one_kill_strikes_in_one_round_only() -> None:
    one = [turn("x.")]
    assert interleavings([one], 1) == 2
    assert interleavings([one, one], 1) == 3
    assert interleavings([one, one], 2) == 4


def test_nobody_is_killed_when_all_rest() -> None:
    """There is no decision any more. While another can go, one at rest can die."""
    assert interleavings([[turn(".x")]], 1) == 1
    assert interleavings([[turn(".x"), turn(".x")]], 1) == 2 + 2


def test_too_many_are_not_counted() -> None:
    assert interleavings([[turn("x" * 7)] * 8], 1) is None


class Play:
    """One round of actors that have so many steps and stand at crash points as their turns say."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self.turns = turns
        self.places: list[int | None] = [0] * len(turns)

    def view(self) -> View:
        return View("safety", 1, 0, tuple(self._lane(number) for number in range(len(self.turns))))

    def _lane(self, number: int) -> LaneView:
        place, name = self.places[number], "abc"[number]
        if place is None:
            return lane(name, state=LaneState.DEAD)._replace(crash_point=None)
        state = LaneState.RESTING if place == len(self.turns[number]) - 1 else LaneState.PARKED
        return LaneView(name, 1, state, f"step:{place}", "p" if self.turns[number][place] else None)

    def is_over(self) -> bool:
        return not self.view().enabled()

    def take(self, kind: str, actor: str) -> None:
        number = "abc".index(actor)
        self.places[number] = None if kind == KILL else (self.places[number] or 0) + 1


@pytest.mark.parametrize("texts", [("xx.", "x.x"), ("x.x", ".x"), ("...x",), ("x.", "x.", ".x")])
@pytest.mark.parametrize("kills", [0, 1, 2])
def test_the_search_runs_as_many(texts: tuple[str, ...], kills: int) -> None:
    turns = [turn(text) for text in texts]
    seen: list[tuple[tuple[int, int], ...]] = []
    prefix: list[int] | None = []
    while prefix is not None:
        decider, play = ExhaustiveDecider(prefix, POINTS, kills), Play(turns)
        while not play.is_over():
            decision = decider.decide(play.view())
            play.take(decision.kind, decision.actor or "")
        seen.append(tuple(decider.met))
        prefix = next_prefix(decider.met)
    assert len(seen) == len(set(seen)) == interleavings([turns], kills)


def test_who_goes_first_has_no_choice_and_is_not_killed() -> None:
    play = Play([turn("xx."), turn("x.x")])
    decider = ExhaustiveDecider([], POINTS, 1, frozenset("b"))
    while not play.is_over():
        decision = decider.decide(play.view())
        play.take(decision.kind, decision.actor or "")
    assert [options for options, _ in decider.met] == [2, 2]
    assert play.places == [2, 2]


def test_outside_the_safety_phase_there_is_one_way() -> None:
    decider = ExhaustiveDecider([], POINTS, 1)
    standing = Play([turn("xx"), turn("xx")]).view()
    assert [decider.decide(standing._replace(phase="liveness")).actor for _ in range(4)] == ["a", "b", "a", "b"]
    assert decider.met == []


def test_a_survey_tells_the_turns() -> None:
    play = Play([turn("xx."), turn(".x")])
    surveyor = Surveyor(POINTS, frozenset())
    while not play.is_over():
        decision = surveyor.decide(play.view())
        play.take(decision.kind, decision.actor or "")
    assert surveyor.rounds == [[turn("xx."), turn("..")]]  # who rests at a crash point is known by its last commit


@pytest.mark.parametrize(("point", "rests"), [("after-complete-before-commit", True), ("during-work", False), (None, False)])
def test_who_committed_something_rests_at_a_crash_point(point: str | None, rests: bool) -> None:
    surveyor = Surveyor(frozenset({"after-complete"}), frozenset())
    surveyor.decide(View("safety", 1, 0, (LaneView("a", 1, LaneState.PARKED, "complete:COMMIT", point),)))
    assert surveyor.rounds == [[(False, rests)]]
