"""Views for strategies, and a run without a database: actors that take labelled steps until they rest."""

from __future__ import annotations

from collections.abc import Mapping

from simrunner.model.view import LaneState, LaneView, View


def lane(
    actor: str, label: str | None = "claim:1", state: LaneState = LaneState.PARKED, crash_point: str | None = None
) -> LaneView:
    return LaneView(actor, 1, state, label, crash_point)


def view(*lanes: LaneView, phase: str = "safety", number: int = 1) -> View:
    return View(phase, number, 0, lanes)


def parked(*actors: str) -> View:
    return view(*(lane(actor) for actor in actors))


def standing(left: Mapping[str, int], steps: Mapping[str, int]) -> View:
    """Actors that have so many of their steps left; one without any rests."""
    return view(
        *(
            lane(
                actor, f"step:{steps[actor] - count + 1}" if count else "round", LaneState.PARKED if count else LaneState.RESTING
            )
            for actor, count in left.items()
        )
    )
