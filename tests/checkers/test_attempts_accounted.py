"""attempts-accounted: too many claims, wrong counters, jobs given up unseen, under each policy of counting."""

from dataclasses import replace
from typing import Any

import pytest

from simrunner.checkers.attempts_accounted import check
from simrunner.history.builder import HistoryBuilder
from simrunner.history.by_hand import reference_context, unowned
from simrunner.history.history import History
from simrunner.model.design import Policies

PROMISES = reference_context().promises


def claimed_and_lost(times: int, **columns: Any) -> HistoryBuilder:
    """Job 1 is claimed, its owner killed, and recovered, so often."""
    h = HistoryBuilder()
    h.seed(1)
    for _ in range(times):
        h.claim("worker-a", 1, **columns)
        h.kill("worker-a", "after-commit")
        h.clock(60_000)
        h.recover()
    return h


def build(h: HistoryBuilder, maximum: int | None = 3, counted_at: str = "claim", charges: bool = False) -> History:
    return h.build(
        promises=replace(PROMISES, max_attempts=maximum, attempt_counted_at=counted_at),
        policies=Policies(recovery_charges_attempt=charges),
        max_attempts=maximum or 5,
    )


def test_a_claim_beyond_the_maximum_is_a_violation() -> None:
    h = claimed_and_lost(4)
    judgement = check(build(h))
    [finding] = judgement.findings
    assert (finding.job, h.events[finding.seq - 1].generation, judgement.opportunities) == (1, 4, 4)


def test_as_many_claims_as_the_maximum_pass() -> None:
    assert not check(build(claimed_and_lost(3))).findings


def test_without_a_promised_maximum_only_the_counter_is_judged() -> None:
    assert not check(build(claimed_and_lost(9), maximum=None)).findings


def test_the_maximum_in_the_row_counts_before_the_promised_one() -> None:
    h = claimed_and_lost(2)
    history = build(h)
    rows = tuple((job, row._replace(max_attempts=1)) for job, row in history.context.final_jobs or ())
    context = replace(history.context, final_jobs=rows)
    assert len(check(History(history.events, context)).findings) == 1


def test_a_counter_below_the_claims_is_a_violation_told_once() -> None:
    h = claimed_and_lost(3, attempt=0)
    [finding] = check(build(h)).findings
    assert h.events[finding.seq - 1].generation == 1
    assert "below" in finding.explanation


def test_a_counter_above_the_claims_is_a_violation() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a", attempt=2)
    [finding] = check(build(h)).findings
    assert "above" in finding.explanation


def test_a_recovery_that_changes_the_counter_is_a_violation_unless_it_charges() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.kill("worker-a")
    h.clock(60_000)
    h.recover(attempt=2)
    assert [finding.job for finding in check(build(h)).findings] == [1]
    assert not check(build(h, charges=True)).findings


def test_a_design_may_count_failures_instead() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a", attempt=0)
    h.fail("worker-a", attempt=1)
    h.claim("worker-a", attempt=1)
    assert not check(build(h, counted_at="failure")).findings
    assert check(build(h)).findings


def test_counting_failures_an_uncharged_recovery_allows_another_claim() -> None:
    h = claimed_and_lost(5, attempt=0)
    assert not check(build(h, counted_at="failure")).findings


def test_a_job_given_up_unseen_before_its_maximum_is_a_violation() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.kill("worker-a", "after-commit")
    h.clock(60_000)
    h.recover(to="failed")
    [finding] = check(build(h)).findings
    assert h.events[finding.seq - 1].to_state == "failed"


def test_a_job_given_up_at_its_maximum_passes() -> None:
    h = claimed_and_lost(2)
    h.claim("worker-a", 1)
    h.kill("worker-a", "after-commit")
    h.clock(60_000)
    h.recover(to="failed")
    assert not check(build(h)).findings


def test_a_job_that_somebody_worked_on_may_fail_early() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.work_start("worker-a")
    h.fail("worker-a", to="failed")
    assert not check(build(h)).findings


def test_a_counter_that_does_not_start_at_zero_is_counted_from_there() -> None:
    h = HistoryBuilder()
    h.seed(1, attempt=2)
    h.claim("worker-a")
    assert not check(build(h)).findings


def test_a_maximum_that_only_the_row_states_counts() -> None:
    h = claimed_and_lost(4)
    row = h.rows[1].canonical(h.token_names)._replace(max_attempts=3)
    promises = replace(PROMISES, max_attempts=None)
    assert [finding.job for finding in check(h.build(promises=promises, final_jobs=((1, row),))).findings] == [1]


@pytest.mark.parametrize(("attempt", "found"), [(1, 0), (2, 1)])
def test_a_crash_of_the_server_takes_lost_claims_and_their_count_along(attempt: int, found: int) -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    lost = replace(unowned(h.rows[1], "ready", h.rows[1].available_at), attempt=0)
    h.rows[1] = lost
    h.event("transition", actor="server", **lost.columns(), from_state="claimed")
    h.locks.clear()
    h.claim("worker-b", 1, attempt=attempt)
    assert len(check(h.build()).findings) == found
