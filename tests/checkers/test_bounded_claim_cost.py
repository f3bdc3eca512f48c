"""bounded-claim-cost: claims that fetch more and more at equal depth, and those of which nothing of the kind can be said."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from simrunner.analysis.judge import judge
from simrunner.checkers.bounded_claim_cost import FIRST_CLAIMS, check
from simrunner.history.builder import HistoryBuilder
from simrunner.history.by_hand import reference_context
from simrunner.model.design import Promises
from simrunner.model.verdict import Verdict

FIRST = [20, 21, *[20] * (FIRST_CLAIMS - 2)]
BASE = 21


def told(h: HistoryBuilder, *buffers: int | None) -> None:
    """Let the claim that is under way say what each of its statements fetched."""
    for one in buffers:
        h.event("report", **h.open_txn("worker-a").columns, value=None if one is None else str(one))


def claims(costs: Iterable[int | None], *, arrivals: bool = True, jobs: int = 5) -> HistoryBuilder:
    """Claims that took a job each, which ended, while another one came."""
    h = HistoryBuilder()
    h.seed(jobs)
    for cost in costs:
        h.claim("worker-a", commit=False)
        told(h, cost)
        h.commit("worker-a")
        h.complete("worker-a")
        if arrivals:
            h.enqueue()
    return h


def promises(**bounds: Any) -> Promises:
    return replace(reference_context().promises, **bounds)


def test_a_claim_that_fetches_more_than_twice_as_much_is_a_violation() -> None:
    h = claims([*FIRST, BASE, 2 * BASE, 2 * BASE + 1])
    judgement = check(h.build())
    [finding] = judgement.findings
    assert (judgement.opportunities, judgement.undecided) == (3, None)
    assert (finding.job, h.events[finding.seq - 1].value) == (FIRST_CLAIMS + 3, "43")
    assert [h.events[seq - 1].value for seq in finding.witness] == ["21", "1", "43"]
    assert "fetched 43 buffers" in finding.explanation
    assert "with 5 jobs ready and 12 ended" in finding.explanation
    assert "none fetched more than 21; so 42 is the most" in finding.explanation


def test_twice_as_much_is_no_violation() -> None:
    assert not check(claims([*FIRST, BASE, 2 * BASE]).build()).findings


def test_the_factor_is_the_designs() -> None:
    h = claims([*FIRST, 3 * BASE, 3 * BASE + 1])
    assert len(check(h.build(promises=promises(claim_cost_factor=3))).findings) == 1


def test_a_few_buffers_more_than_very_few_are_no_growth() -> None:
    h = claims([*[2] * FIRST_CLAIMS, 20, 21])
    assert [finding.job for finding in check(h.build()).findings] == [FIRST_CLAIMS + 2]
    assert len(check(h.build(promises=promises(claim_cost_floor_buffers=1))).findings) == 2


def test_a_deeper_queue_may_cost_more() -> None:
    """What the fixture did not hold was not there for the first claims."""
    h = claims(FIRST)
    h.enqueue()
    h.claim("worker-a", commit=False)
    told(h, 99)
    h.commit("worker-a")
    assert check(h.build()).opportunities == 0
    h.claim("worker-a", commit=False)
    told(h, 99)
    h.commit("worker-a")
    assert len(check(h.build()).findings) == 1


def test_a_claim_that_finds_nothing_may_not_walk_for_long_either() -> None:
    h = claims(FIRST, arrivals=False, jobs=FIRST_CLAIMS)
    h.begin("worker-a", "claim")
    h.send_claim("worker-a", 99)
    h.ok("worker-a", rows=0)
    told(h, 43)
    h.commit("worker-a")
    [finding] = check(h.build()).findings
    assert finding.job is None
    assert "that found nothing fetched 43 buffers" in finding.explanation


def test_the_statements_of_one_claim_count_together() -> None:
    h = claims(FIRST)
    h.begin("worker-a", "claim")
    token = 99
    h.send_claim("worker-a", token)
    h.ok("worker-a", rows=1)
    told(h, 22)
    h.sent("worker-a", "2")
    h.claimed("worker-a", [FIRST_CLAIMS + 1], token)
    told(h, 21)
    h.commit("worker-a")
    assert len(check(h.build()).findings) == 1


def test_a_claim_that_failed_is_not_compared() -> None:
    h = claims(FIRST)
    h.begin("worker-a", "claim")
    h.send_claim("worker-a", 99)
    h.failed("worker-a", "55P03")
    h.rollback("worker-a")
    judgement = check(h.build())
    assert (judgement.opportunities, judgement.undecided) == (0, None)


def test_a_run_that_did_not_count_has_no_opportunity() -> None:
    h = HistoryBuilder()
    h.seed(30)
    for _ in range(30):
        h.claim("worker-a")
    judgement = check(h.build())
    assert (judgement.opportunities, judgement.undecided) == (0, None)


@pytest.mark.parametrize(
    ("costs", "verdict"),
    [
        ([*FIRST, 20], Verdict.VALID),
        ([None] * 20, Verdict.UNKNOWN),
        ([*FIRST, 20, None], Verdict.UNKNOWN),
        ([*FIRST, None, 99], Verdict.VIOLATED),
        (FIRST, Verdict.NOT_EXERCISED),
    ],
)
def test_what_could_not_be_counted_is_unknown(costs: list[int | None], verdict: Verdict) -> None:
    name = "bounded-claim-cost"
    history = claims(costs).build(promises=replace(promises(), invariants=frozenset({name})))
    run = judge(history, [name], [name], ())
    [row] = [row for row in run.invariants if row.name == name]
    assert (run.verdict, row.verdict) == (verdict, verdict)
    assert (row.error is not None) == (None in costs)
    assert row.error is None or "autocommit" in row.error


def test_where_claims_race_nothing_is_said() -> None:
    judgement = check(claims([*FIRST, 99]).build(mode="rounds"))
    assert (judgement.opportunities, judgement.findings) == (0, ())
    assert "race" in (judgement.undecided or "")


def test_it_is_a_pure_function() -> None:
    history = claims([*FIRST, 50, 20, 60]).build()
    assert check(history) == check(history)
