"""concurrency-limit: one claim too many of a group is found; what has ended, lapsed or belongs elsewhere does not count."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from simrunner.checkers.concurrency_limit import check
from simrunner.history.builder import HistoryBuilder
from simrunner.history.by_hand import reference_context
from simrunner.history.lock_builder import LockBuilder
from simrunner.model.design import Ownership
from simrunner.model.verdict import Judgement

LEASE_MS = 30_000


def judge(h: HistoryBuilder, limit: int | None = 2, **context: Any) -> Judgement:
    promises = replace(reference_context().promises, concurrency_limit=limit)
    return check(h.build(**{"promises": promises, **context}))


def claimed(*workers: str, group: str | None = "red") -> HistoryBuilder:
    """Each worker has claimed one job of the group; two more are ready."""
    h = HistoryBuilder(lease_ms=LEASE_MS)
    h.seed(len(workers) + 2, group=group)
    for worker in workers:
        h.claim(worker)
    return h


def test_a_claim_beyond_the_limit_is_found() -> None:
    h = claimed("worker-a", "worker-b", "worker-c")
    judgement = judge(h)
    claims = [event.seq for event in h.events if event.kind == "transition"]
    [finding] = judgement.findings
    assert (finding.invariant, finding.seq, finding.job, judgement.opportunities) == ("concurrency-limit", claims[2], 3, 3)
    assert finding.witness == tuple(claims)
    assert "3 jobs of the group red are owned at a time, where 2 are allowed" in finding.explanation


def test_as_many_as_the_limit_pass() -> None:
    judgement = judge(claimed("worker-a", "worker-b"))
    assert (judgement.opportunities, judgement.findings) == (2, ())


def test_every_claim_beyond_the_limit_is_told() -> None:
    assert len(judge(claimed("worker-a", "worker-b", "worker-c"), limit=1).findings) == 2


@pytest.mark.parametrize("end", ["complete", "fail", "release"])
def test_what_its_owner_has_ended_does_not_count(end: str) -> None:
    h = claimed("worker-a", "worker-b")
    getattr(h, end)("worker-a")
    h.claim("worker-c", 3)
    assert judge(h).findings == ()
    h.claim("worker-d", 4)
    assert len(judge(h).findings) == 1


@pytest.mark.parametrize(("ms", "found"), [(LEASE_MS - 10, 1), (LEASE_MS + 10, 0)])
def test_a_lapsed_claim_does_not_count_though_nobody_has_recovered_it(ms: int, found: int) -> None:
    h = claimed("worker-a", "worker-b")
    h.clock(ms)
    h.claim("worker-c")
    assert len(judge(h).findings) == found


def test_where_the_row_is_the_claim_it_does_not_lapse() -> None:
    h = claimed("worker-a", "worker-b")
    h.clock(2 * LEASE_MS)
    h.claim("worker-c")
    assert len(judge(h, ownership=Ownership.ROW).findings) == 1


def test_a_renewed_lease_counts() -> None:
    h = claimed("worker-a", "worker-b")
    h.clock(LEASE_MS - 10)
    h.heartbeat("worker-a")
    h.heartbeat("worker-b")
    h.clock(LEASE_MS - 10)
    h.claim("worker-c")
    assert len(judge(h).findings) == 1


def test_each_group_has_its_own_limit_and_a_job_without_one_has_none() -> None:
    h = claimed("worker-a", "worker-b")
    h.seed(3, group="blue")
    h.seed(3)
    for number in range(5, 11):
        h.claim("worker-c", number)
    judgement = judge(h)
    assert [finding.job for finding in judgement.findings] == [7]
    assert judgement.opportunities == 5


def test_a_group_that_changes_while_a_job_waits_counts_as_it_is_then() -> None:
    h = HistoryBuilder()
    h.seed(3, group="red")
    h.claim("worker-a", 1, group="blue")
    h.claim("worker-b", 2)
    h.claim("worker-c", 3)
    assert judge(h).findings == ()


def test_a_batch_counts_job_by_job() -> None:
    h = HistoryBuilder(batch=3)
    h.seed(4, group="red")
    h.claim("worker-a")
    assert len(judge(h).findings) == 1


def test_what_one_transaction_ends_and_claims_changes_at_one_moment() -> None:
    h = claimed("worker-a", "worker-b")
    h.claim("worker-c", 1)
    assert judge(h).findings == ()  # a steal: the job counts once


def test_without_a_limit_there_is_no_opportunity() -> None:
    assert judge(claimed("worker-a", "worker-b", "worker-c"), limit=None) == Judgement(0, ())


@pytest.mark.parametrize(("committed", "found"), [(False, 1), (True, 0)])
def test_where_the_lock_is_the_claim_it_counts_until_its_transaction_ends(committed: bool, found: int) -> None:
    h = LockBuilder()
    h.seed(3, group="red")
    for worker in ("worker-a", "worker-b"):
        h.lock(worker)
    if committed:
        h.work("worker-a")
    h.lock("worker-c")
    promises = replace(reference_context().promises, concurrency_limit=2)
    assert len(check(h.build(promises=promises, completed=False)).findings) == found


@pytest.mark.parametrize(("completes", "found"), [(True, 0), (False, 1)])
def test_where_claims_race_what_is_owned_when_their_round_has_ended_counts(completes: bool, found: int) -> None:
    h = claimed("worker-a", "worker-b", "worker-c")
    if completes:
        h.complete("worker-a")
    assert len(judge(h, mode="rounds").findings) == found
