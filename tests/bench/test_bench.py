"""What the figures are of: the same work on both sides, all of it recorded. Their size is nobody's promise."""

from __future__ import annotations

from simrunner.runtime.cluster import Cluster
from simrunner.spec.plan import plan_of
from tests.bench import isolation, schedules
from tests.bench.__main__ import BLOCKED, CLAIMS, KILLS, KILLS_2, LOCKS, OWN_SPEC, PEER, PEER_WAITS, WAITS, measure


def test_the_peer_runs_the_same_interleavings(cluster: Cluster) -> None:
    orders = [[move.step.name for move in moves] for moves in plan_of(isolation.spec(isolation.SKIP, 1), "f", "f").permutations()]
    assert len({tuple(order) for order in orders}) == 20
    taken = schedules.interleavings(cluster, "lock-twice", 1)
    assert taken.schedules == 20 - schedules.WARM_UP
    assert taken.blocked_us == ()


def test_a_spec_that_waits_can_be_run() -> None:
    orders = [[move.step.name for move in moves] for moves in plan_of(isolation.spec(isolation.WAIT, 1), "f", "f").permutations()]
    assert ["s1a", "s1b", "s2a", "s1c", "s2b", "s2c"] in orders
    assert all(order[3].endswith("c") for order in orders)


def test_every_figure_is_taken() -> None:
    figures = measure(1, 1)
    peers = () if isolation.find(18) is None else (PEER, PEER_WAITS)
    assert set(figures["medians"]) == {OWN_SPEC, LOCKS, CLAIMS, WAITS, BLOCKED, KILLS, KILLS_2, *peers}
    assert all(value > 0 for value in figures["medians"].values())
    assert len(figures["ratios"]) == 2 * len(peers)
