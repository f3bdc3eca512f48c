"""lease-clock: a stored expiry is the declared lease after the time of the transaction that wrote it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simrunner.checkers.lease_clock import check
from simrunner.history.builder import HistoryBuilder
from simrunner.history.by_hand import reference_context

TOLERANCE_MS = 1_000
TOLERANT = replace(reference_context().promises, lease_tolerance_ms=TOLERANCE_MS)


def stamped(late_us: int) -> HistoryBuilder:
    """A claim whose expiry is so much later than its lease says."""
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    claim = h.events[-1]
    h.events[-1] = claim._replace(lease_until=(claim.lease_until or 0) + late_us)
    return h


@pytest.mark.parametrize("late_us", [TOLERANCE_MS * 1000 + 1, -TOLERANCE_MS * 1000 - 1, -45_000_000])
def test_an_expiry_by_another_clock_is_found(late_us: int) -> None:
    h = stamped(late_us)
    seq = h.events[-1].seq
    judgement = check(h.build(promises=TOLERANT))
    (finding,) = judgement.findings
    assert (judgement.opportunities, finding.seq, finding.witness) == (1, seq, (seq,))
    assert f"{(30_000_000 + late_us) / 1000:g} ms after its own time" in finding.explanation
    assert "instead of 30000 ms" in finding.explanation


@pytest.mark.parametrize("late_us", [0, TOLERANCE_MS * 1000, -TOLERANCE_MS * 1000])
def test_within_the_tolerance_it_passes(late_us: int) -> None:
    judgement = check(stamped(late_us).build(promises=TOLERANT))
    assert (judgement.opportunities, judgement.findings) == (1, ())


def renewed() -> HistoryBuilder:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.clock(20_000)
    h.heartbeat("worker-a")
    return h


def test_a_renewal_is_judged_by_its_own_time() -> None:
    judgement = check(renewed().build())
    assert (judgement.opportunities, judgement.findings) == (2, ())
    h = renewed()
    renewal = h.events[-1] = h.events[-1]._replace(lease_until=(h.events[-1].lease_until or 0) - 20_000_000)
    assert [finding.seq for finding in check(h.build()).findings] == [renewal.seq]


def test_a_renewal_of_something_else_stamps_nothing() -> None:
    h = renewed()
    h.events[-1] = h.events[-1]._replace(value="attempts", lease_until=1)
    assert check(h.build()).opportunities == 1
