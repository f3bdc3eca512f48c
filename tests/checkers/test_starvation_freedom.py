"""starvation-freedom: jobs that too many claims passed, and those that were only passed by what was ahead of them."""

import random
from dataclasses import replace

import pytest

from simrunner.checkers.starvation_freedom import check
from simrunner.checkers.stays import passes_of, stays_of
from simrunner.history.builder import HistoryBuilder
from simrunner.history.by_hand import START_US, reference_context
from simrunner.history.history import History
from simrunner.model.event import OBSERVER


def starved(history: History) -> list[int | None]:
    return [finding.job for finding in check(history).findings]


def test_one_claim_more_than_the_bound_is_a_violation() -> None:
    h = HistoryBuilder()
    h.seed(6)
    for job in (2, 3, 4):
        h.claim("worker-a", job)
    judgement = check(h.build(starvation_claims=2))
    [finding] = judgement.findings
    assert (finding.job, h.events[finding.seq - 1].job) == (1, 4)
    assert [h.events[seq - 1].job for seq in finding.witness] == [1, 2, 3, 4]
    assert judgement.opportunities == 6


def test_as_many_claims_as_the_bound_pass() -> None:
    h = HistoryBuilder()
    h.seed(6)
    for job in (2, 3):
        h.claim("worker-a", job)
    assert not starved(h.build(starvation_claims=2))


def test_the_smaller_of_the_two_bounds_counts() -> None:
    h = HistoryBuilder()
    h.seed(6)
    for job in (2, 3):
        h.claim("worker-a", job)
    promises = replace(reference_context().promises, starvation_claims=1)
    assert starved(h.build(starvation_claims=5, promises=promises)) == [1]


def test_jobs_that_were_ahead_may_pass_without_end() -> None:
    h = HistoryBuilder()
    h.seed(6)
    for _ in range(6):
        h.claim("worker-a")
    assert not starved(h.build(starvation_claims=0))


def test_a_locked_job_is_not_passed() -> None:
    h = HistoryBuilder()
    h.seed(4)
    h.claim("worker-a", 1, commit=False)
    h.claim("worker-b", 2)
    h.claim("worker-b", 3)
    h.kill("worker-a")
    assert not starved(h.build(starvation_claims=1))
    h.claim("worker-b", 4)
    assert not starved(h.build(starvation_claims=1))
    assert starved(h.build(starvation_claims=0)) == [1]


def test_a_job_that_a_probe_saw_locked_is_not_passed() -> None:
    h = HistoryBuilder()
    h.seed(4)
    h.locks[1] = "locker"
    for _ in range(3):
        h.claim("worker-b")
    assert not starved(h.build(starvation_claims=0))


def test_a_job_of_the_future_is_not_passed() -> None:
    h = HistoryBuilder()
    h.seed(4, priority=0)
    h.seed(1, priority=5, available_at=START_US + 60_000_000)
    for _ in range(3):
        h.claim("worker-a")
    assert not starved(h.build(starvation_claims=1))
    h.clock(120_000)
    h.claim("worker-a", 4)
    assert starved(h.build(starvation_claims=0)) == [5]


def test_later_arrivals_that_are_more_preferred_count_for_the_cohort() -> None:
    h = HistoryBuilder()
    h.seed(1)
    for _ in range(3):
        h.enqueue(priority=9)
        h.claim("worker-a")
    assert starved(h.build(starvation_claims=2)) == [1]
    assert not starved(h.build(starvation_claims=3))


def test_nothing_is_promised_to_other_jobs_against_more_preferred_arrivals() -> None:
    h = HistoryBuilder()
    h.seed(1, cohort=None)
    for _ in range(3):
        h.enqueue(priority=9)
        h.claim("worker-a")
    assert not starved(h.build(starvation_claims=2))
    assert starved(h.build(starvation_claims=2, cohort="all")) == [1]


def test_other_jobs_are_not_passed_by_less_preferred_ones() -> None:
    h = HistoryBuilder()
    h.seed(4, cohort=None)
    h.claim("worker-a", 2)
    h.claim("worker-a", 3)
    assert starved(h.build(starvation_claims=1)) == [1]


def test_a_recovery_begins_a_new_stay() -> None:
    h = HistoryBuilder()
    h.seed(5)
    h.claim("worker-a", 2)
    h.claim("worker-b", 1)
    h.kill("worker-b")
    h.clock(60_000)
    h.recover(job=1)
    h.claim("worker-a", 3)
    h.claim("worker-a", 4)
    h.claim("worker-a", 5)
    assert not starved(h.build(starvation_claims=1))


def test_the_claims_of_one_round_do_not_pass_each_other() -> None:
    h = HistoryBuilder()
    h.seed(4)
    h.phase("safety")
    for job in (1, 2, 3, 4):
        h.event("probe", actor=OBSERVER, operation="claim", job=job, rank=job)
    for actor, job in (("worker-a", 3), ("worker-b", 2), ("worker-c", 1)):
        h.claim(actor, job, probe=False)
    assert not starved(h.build(mode="rounds", starvation_claims=0))
    assert starved(h.build(starvation_claims=1)) == [1]


def test_without_a_declared_order_nothing_is_promised() -> None:
    h = HistoryBuilder()
    h.seed(3)
    h.claim("worker-a", 2)
    h.claim("worker-a", 3)
    judgement = check(h.build(starvation_claims=1, promises=replace(reference_context().promises, order=())))
    assert (judgement.findings, judgement.opportunities) == ((), 0)


def counted_plainly(history: History, bound: int) -> set[tuple[int, int]]:
    """The definition itself, pass by pass over every pair of a stay and a claim."""
    stays = stays_of(history)
    found = set()
    for stay in stays:
        passes = 0
        for one in passes_of(history, stays):
            over = stay.leaves_seq is None or stay.leaves_seq > one.window[1]
            waits = stay.entry.seq < one.window[0] and over and (stay.entry.available_at or 0) <= one.txn_time
            behind = stay.place < one.stay.place
            late = stay.in_cohort and one.stay.entry.seq > stay.entry.seq
            passes += waits and (behind or late) and stay.job not in one.locked
        if passes > bound:
            found.add((stay.job, stay.entry.seq))
    return found


@pytest.mark.parametrize("seed", range(12))
def test_the_walk_agrees_with_the_definition(seed: int) -> None:
    chance = random.Random(seed)
    h = HistoryBuilder()
    h.seed(12, priority=-1, cohort=None)
    h.seed(8)
    for _ in range(30):
        ready = [row.job for row in h.rows.values() if row.state == "ready"]
        move = chance.randrange(4)
        if move == 0:
            h.enqueue(priority=chance.randrange(-2, 3))
        elif move == 1:
            h.clock(20_000)
            h.recover()
        elif ready:
            h.claim("worker-a", chance.choice(ready))
    history = h.build()
    for bound in (0, 1, 3):
        history = h.build(starvation_claims=bound)
        expected = counted_plainly(history, bound)
        assert {(finding.job, finding.witness[0]) for finding in check(history).findings} == expected
    assert counted_plainly(history, 0)


def test_a_job_that_an_open_claim_holds_is_not_passed_where_no_probe_tells() -> None:
    h = HistoryBuilder()
    h.seed(4)
    h.claim("worker-a", 1, commit=False)
    h.claim("worker-b", 2, probe=False)
    h.kill("worker-a")
    assert not starved(h.build(starvation_claims=0))


def test_a_claim_that_began_before_a_job_was_available_does_not_pass_it() -> None:
    h = HistoryBuilder()
    h.seed(4)
    h.seed(1, priority=5, available_at=START_US + 60_000_000)
    h.begin("worker-b", "claim")
    h.clock(120_000)
    h.claim("worker-a", 1)
    h.send_claim("worker-b", 9)
    h.claimed("worker-b", [2], 9)
    h.commit("worker-b")
    assert not starved(h.build(starvation_claims=1))
    assert starved(h.build(starvation_claims=0)) == [5]


def test_a_blocked_claim_does_not_pass_a_job_that_came_while_it_waited() -> None:
    h = HistoryBuilder()
    h.seed(3)
    h.begin("worker-b", "claim")
    h.send_claim("worker-b", 9)
    h.blocked("worker-b", "locker")
    urgent = h.enqueue(priority=9, available_at=START_US)
    h.claim("worker-a", 2)
    h.freed("worker-b")
    h.claimed("worker-b", [1], 9)
    h.commit("worker-b")
    assert urgent not in starved(h.build(starvation_claims=1, cohort="all"))
    assert urgent in starved(h.build(starvation_claims=0, cohort="all"))


def test_a_scheduled_job_that_ended_before_its_time_is_not_passed() -> None:
    h = HistoryBuilder()
    h.seed(3)
    h.seed(1, priority=5, available_at=START_US + 60_000_000)
    h.begin("producer-1", "enqueue")
    h.change("producer-1", 4, lambda row: replace(row, state="cancelled"))
    h.commit("producer-1")
    h.claim("worker-a")
    h.clock(120_000)
    h.claim("worker-a")
    assert not starved(h.build(starvation_claims=0))
