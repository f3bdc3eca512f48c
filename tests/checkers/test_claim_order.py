"""claim-order: histories in which a job was passed over, and those in which it only looks so."""

from collections.abc import Callable
from dataclasses import replace

from simrunner.checkers.claim_order import check
from simrunner.history.builder import HistoryBuilder
from simrunner.history.by_hand import reference_context
from simrunner.history.history import History
from simrunner.model.design import Ownership, Policies, Promises
from simrunner.model.event import OBSERVER


def passed_over(history: History) -> list[tuple[int | None, int]]:
    return [(finding.job, finding.seq) for finding in check(history).findings]


def test_claiming_the_second_while_the_first_is_free_is_a_violation() -> None:
    h = HistoryBuilder()
    h.seed(3)
    h.claim("worker-a", 2)
    judgement = check(h.build())
    [finding] = judgement.findings
    claim = h.events[finding.seq - 1]
    assert (finding.job, claim.kind, claim.job, judgement.opportunities) == (1, "transition", 2, 1)
    assert "{job:2}" in finding.explanation
    assert [h.events[seq - 1].kind for seq in finding.witness] == ["probe", "probe", "transition"]


def test_claiming_the_second_while_the_first_is_locked_passes() -> None:
    h = HistoryBuilder()
    h.seed(3)
    h.claim("worker-a", commit=False)
    h.claim("worker-b")
    h.commit("worker-a")
    judgement = check(h.build())
    assert (judgement.findings, judgement.opportunities) == ((), 2)


def test_a_strict_order_counts_locked_jobs_too() -> None:
    h = HistoryBuilder()
    h.seed(3)
    h.claim("worker-a", commit=False)
    h.claim("worker-b")
    assert [job for job, _ in passed_over(h.build(policies=Policies(fifo_counts_locked=True)))] == [1]


def test_a_batch_is_judged_as_a_set() -> None:
    h = HistoryBuilder(batch=3)
    h.seed(5)
    h.claim("worker-a", [3, 1, 2])
    assert not passed_over(h.build())


def test_a_batch_that_leaves_out_one_ahead_is_a_violation() -> None:
    h = HistoryBuilder(batch=3)
    h.seed(5)
    h.claim("worker-a", [1, 2, 4])
    assert [job for job, _ in passed_over(h.build())] == [3]


def test_a_job_behind_the_listed_candidates_passes_only_if_all_free_ones_were_taken() -> None:
    h = HistoryBuilder()
    h.seed(5)
    h.claim("worker-a", 5)
    assert [job for job, _ in passed_over(h.build())] == [1]
    h = HistoryBuilder()
    h.seed(5)
    h.claim("worker-a", [1, 2, 3])
    assert not passed_over(h.build())


def test_a_claim_that_did_not_commit_is_no_claim() -> None:
    h = HistoryBuilder()
    h.seed(3)
    h.claim("worker-a", 2, commit=False)
    h.kill("worker-a", "after-claim-before-commit")
    assert not passed_over(h.build())


def test_where_the_lock_is_the_claim_it_counts_without_commit() -> None:
    h = HistoryBuilder()
    h.seed(3)
    h.claim("worker-a", 2, commit=False)
    h.kill("worker-a")
    assert [job for job, _ in passed_over(h.build(ownership=Ownership.LOCK))] == [1]


def blocked_claim(h: HistoryBuilder, meanwhile: Callable[[], object]) -> None:
    """worker-b sees jobs 1 to 3, waits, and is given job 2 after what happened meanwhile."""
    h.seed(3)
    h.begin("worker-b", "claim")
    token = h._new_token("worker-b")
    h.send_claim("worker-b", token)
    h.blocked("worker-b", "worker-a")
    meanwhile()
    h.freed("worker-b")
    h.claimed("worker-b", [2], token)
    h.commit("worker-b")


def test_a_blocked_claim_may_pass_a_job_that_another_took_meanwhile() -> None:
    h = HistoryBuilder()
    blocked_claim(h, lambda: h.claim("worker-a", 1))
    assert not passed_over(h.build())


def test_a_blocked_claim_may_pass_a_job_that_was_locked_for_a_while() -> None:
    def lock_and_let_go() -> None:
        h.claim("worker-a", 1, commit=False)
        h.rollback("worker-a")

    h = HistoryBuilder()
    blocked_claim(h, lock_and_let_go)
    assert not passed_over(h.build())


def test_a_blocked_claim_may_not_pass_a_job_that_waited_all_the_time() -> None:
    h = HistoryBuilder()
    blocked_claim(h, h.enqueue)
    assert [job for job, _ in passed_over(h.build())] == [1]


def test_a_blocked_claim_may_take_a_better_job_that_came_meanwhile() -> None:
    h = HistoryBuilder()
    h.seed(2)
    h.begin("worker-b", "claim")
    token = h._new_token("worker-b")
    h.send_claim("worker-b", token)
    h.blocked("worker-b", "worker-a")
    urgent = h.enqueue(priority=9)
    h.freed("worker-b")
    h.claimed("worker-b", [urgent], token)
    h.commit("worker-b")
    assert not passed_over(h.build())


def test_a_blocked_claim_may_not_take_a_worse_job_that_came_meanwhile() -> None:
    h = HistoryBuilder()
    h.seed(2)
    h.begin("worker-b", "claim")
    token = h._new_token("worker-b")
    h.send_claim("worker-b", token)
    h.blocked("worker-b", "worker-a")
    late = h.enqueue()
    h.freed("worker-b")
    h.claimed("worker-b", [late], token)
    h.commit("worker-b")
    assert [job for job, _ in passed_over(h.build())] == [1]


def test_without_a_declared_order_nothing_is_judged() -> None:
    h = HistoryBuilder()
    h.seed(3)
    h.claim("worker-a", 2)
    judgement = check(h.build(promises=replace(reference_context().promises, order=())))
    assert (judgement.findings, judgement.opportunities) == ((), 0)


def test_a_claim_whose_candidates_are_unknown_is_no_opportunity() -> None:
    h = HistoryBuilder()
    h.seed(3)
    h.claim("worker-a", 2, probe=False)
    judgement = check(h.build())
    assert (judgement.findings, judgement.opportunities) == ((), 0)


def concurrent_round(
    taken: dict[str, int],
    *,
    listed: int = 6,
    locked: tuple[int, ...] = (),
    dies: tuple[str, ...] = (),
    meanwhile: Callable[[HistoryBuilder], object] = id,
) -> History:
    """Two or more workers claim in one round; `taken` maps each to what it got."""
    h = HistoryBuilder()
    h.seed(6)
    h.phase("safety")
    h.round(1)
    for job in range(1, listed + 1):
        held = "worker-z" if job in locked else None
        h.event("probe", actor=OBSERVER, operation="claim", job=job, rank=job, blocked_by=held)
    meanwhile(h)
    for actor, job in taken.items():
        h.claim(actor, job, probe=False, commit=actor not in dies)
        if actor in dies:
            h.kill(actor, "after-claim-before-commit")
    return h.build(mode="rounds")


def test_the_claims_of_a_round_take_the_top_in_any_order() -> None:
    judgement = check(concurrent_round({"worker-a": 2, "worker-b": 1}))
    assert (judgement.findings, judgement.opportunities) == ((), 2)


def test_a_round_may_not_reach_beyond_what_its_claims_can_hold() -> None:
    history = concurrent_round({"worker-a": 3, "worker-b": 1})
    assert [job for job, _ in passed_over(history)] == [2]


def test_a_round_passes_a_locked_job() -> None:
    assert not passed_over(concurrent_round({"worker-a": 3, "worker-b": 1}, locked=(2,)))


def test_a_claim_killed_before_its_commit_still_held_a_candidate() -> None:
    assert not passed_over(concurrent_round({"worker-a": 1, "worker-b": 2}, dies=("worker-a",)))
    history = concurrent_round({"worker-a": 1, "worker-b": 3}, dies=("worker-a",))
    assert [job for job, _ in passed_over(history)] == [2]


def test_one_claim_is_one_finding_however_many_it_took() -> None:
    promises = Promises(frozenset(), order=reference_context().promises.order)
    h = HistoryBuilder()
    h.seed(4)
    h.claim("worker-a", [4, 3])
    [(job, seq)] = passed_over(h.build(promises=promises))
    assert (job, h.events[seq - 1].job) == (1, 4)


def test_a_round_may_take_a_job_whose_lock_was_let_go_meanwhile() -> None:
    assert not passed_over(concurrent_round({"worker-a": 1, "worker-b": 2}, locked=(1,)))


def test_a_round_may_not_take_a_job_that_was_ready_behind_the_listed_ones() -> None:
    history = concurrent_round({"worker-a": 6, "worker-b": 1}, listed=4)
    assert [job for job, _ in passed_over(history)] == [2]


def test_where_the_list_ends_before_the_claims_do_nothing_is_known_of_other_jobs() -> None:
    assert not passed_over(concurrent_round({"worker-a": 6, "worker-b": 1}, listed=2))


def test_a_round_may_take_a_job_that_came_meanwhile() -> None:
    assert not passed_over(concurrent_round({"worker-a": 7, "worker-b": 1}, meanwhile=lambda h: h.enqueue(priority=9)))


def test_a_round_passes_a_job_that_another_actor_ended_meanwhile() -> None:
    def cancel(h: HistoryBuilder) -> None:
        h.begin("producer-1", "enqueue")
        h.change("producer-1", 2, lambda row: replace(row, state="cancelled"))
        h.commit("producer-1")

    assert not passed_over(concurrent_round({"worker-a": 3, "worker-b": 1}, meanwhile=cancel))
