"""fenced-writes: a write in the name of a claim that another ended changes nothing."""

from collections.abc import Callable

import pytest

from simrunner.checkers.fenced_writes import check
from simrunner.history.builder import HistoryBuilder
from simrunner.model.design import Policies
from simrunner.model.event import Event


def recovered(*, claimed_again: bool = True) -> HistoryBuilder:
    """worker-a loses job 1 to a recovery; then worker-b claims it."""
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.clock(60_000)
    h.recover()
    if claimed_again:
        h.claim("worker-b", 1)
    return h


def transitions(h: HistoryBuilder) -> list[Event]:
    return [event for event in h.events if event.kind == "transition"]


def test_a_stale_completion_that_is_accepted_is_found() -> None:
    h = recovered()
    h.complete("worker-a", 1, accepted=True)
    h.complete("worker-b", 1)
    judgement = check(h.build())
    (finding,) = judgement.findings
    claim, end, _, stale = transitions(h)
    sent = next(event for event in h.events if event.kind == "sent" and event.operation == "complete" and event.value == "1")
    refused = [event for event in h.events if event.kind == "ok" and event.operation == "complete" and event.value == "1"][1]
    assert judgement.opportunities == 2, "the true owner lost its claim to the stale write as well"
    assert (finding.seq, finding.job) == (stale.seq, 1)
    assert finding.witness == (claim.seq, end.seq, sent.seq, stale.seq, refused.seq)
    assert (
        "worker-a.1 completed job {job:1} with token {token:1}, although the recover transaction of recoverer-1.1"
        in finding.explanation
    )
    assert "belonged to worker-b.1 with token {token:2}, whose own complete was then refused" in finding.explanation


def test_a_stale_completion_that_is_refused_passes() -> None:
    h = recovered()
    h.complete("worker-a", 1)
    h.complete("worker-b", 1)
    judgement = check(h.build())
    assert (judgement.opportunities, judgement.findings) == (1, ())


@pytest.mark.parametrize(("write", "policies"), [("complete", Policies()), ("release", Policies(late_success_counts=False))])
def test_a_write_after_the_lapse_but_before_any_recovery_is_no_late_write(write: str, policies: Policies) -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.clock(60_000)
    getattr(h, write)("worker-a")
    judgement = check(h.build(policies=policies))
    assert (judgement.opportunities, judgement.findings) == (0, ())


NO_LATE_SUCCESS = Policies(late_success_counts=False)


def completed(ms: int, *, heartbeat: bool = False, **options: bool) -> HistoryBuilder:
    """A completion so long after the claim, or after the heartbeat at half the lease, while nobody has recovered the job."""
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    if heartbeat:
        h.clock(h.lease_ms // 2)
        h.heartbeat("worker-a")
    h.clock(ms)
    h.complete("worker-a", **options)
    return h


def test_where_a_late_success_does_not_count_a_completion_after_the_lapse_is_found() -> None:
    h = completed(60_000)
    judgement = check(h.build(policies=NO_LATE_SUCCESS))
    (finding,) = judgement.findings
    claim, end = transitions(h)
    assert (judgement.opportunities, finding.seq, finding.job) == (1, end.seq, 1)
    assert (finding.witness[0], finding.witness[-1], len(finding.witness)) == (claim.seq, end.seq, 3)
    assert "although its lease had lapsed at 2026-09-22 06:00:30" in finding.explanation


@pytest.mark.parametrize(("ms", "heartbeat", "found"), [(29_000, False, 0), (29_000, True, 0), (31_000, True, 1)])
def test_a_completion_within_the_lease_as_last_renewed_counts(ms: int, heartbeat: bool, found: int) -> None:
    judgement = check(completed(ms, heartbeat=heartbeat).build(policies=NO_LATE_SUCCESS))
    assert (judgement.opportunities, len(judgement.findings)) == (found, found)


def test_a_late_success_that_is_refused_passes() -> None:
    judgement = check(completed(60_000, accepted=False).build(policies=NO_LATE_SUCCESS))
    assert (judgement.opportunities, judgement.findings) == (1, ())


def test_a_stale_completion_is_told_once() -> None:
    h = recovered()
    h.complete("worker-a", 1, accepted=True)
    assert len(check(h.build(policies=NO_LATE_SUCCESS)).findings) == 1


def test_a_second_completion_of_ones_own_job_is_no_late_write() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.complete("worker-a")
    h.complete("worker-a", accepted=True)
    judgement = check(h.build())
    assert (judgement.opportunities, judgement.findings) == (0, ())


def test_a_true_owner_that_was_not_refused_is_told() -> None:
    h = recovered()
    h.complete("worker-a", 1, accepted=True)
    (finding,) = check(h.build()).findings
    assert "of whom no later write was refused" in finding.explanation
    assert len(finding.witness) == 4


def test_a_job_that_nobody_owned_is_told() -> None:
    h = recovered(claimed_again=False)
    h.complete("worker-a", 1, accepted=True)
    (finding,) = check(h.build()).findings
    assert "Nobody owned the job at that moment." in finding.explanation


@pytest.mark.parametrize(
    ("write", "told"),
    [
        (lambda h: h.fail("worker-a", 1, accepted=True), "failed"),
        (lambda h: h.release("worker-a", 1, accepted=True), "released"),
        (lambda h: h.heartbeat("worker-a", 1, accepted=True), "renewed the lease of"),
    ],
)
def test_every_fenced_operation_is_judged(write: Callable[[HistoryBuilder], object], told: str) -> None:
    h = recovered()
    write(h)
    judgement = check(h.build())
    (finding,) = judgement.findings
    assert f"worker-a.1 {told} job {{job:1}}" in finding.explanation
    assert judgement.opportunities == 1


def test_a_ghost_that_replays_a_dead_owners_write_is_found() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.kill("worker-a", "after-effect-before-complete")
    h.clock(60_000)
    h.recover()
    h.claim("worker-b", 1)
    h.complete("ghost", 1, token=1, accepted=True)
    (finding,) = check(h.build()).findings
    assert "ghost.1 completed job {job:1} with token {token:1}" in finding.explanation


def test_a_steal_ends_the_claim_too() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.claim("worker-b", 1)
    h.complete("worker-a", 1, accepted=True)
    (finding,) = check(h.build()).findings
    assert "the claim transaction of worker-b.1 had ended that claim" in finding.explanation


def blocked(*, rows: int) -> HistoryBuilder:
    """worker-a's completion waits behind an open recovery and goes on after its commit."""
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.clock(60_000)
    h.recover(commit=False)
    h.begin("worker-a", "complete")
    h.sent("worker-a", job=1, token=1)
    h.blocked("worker-a", "recoverer-1")
    h.commit("recoverer-1")
    h.freed("worker-a")
    h.ok("worker-a", rows=rows)
    if rows:
        h.change("worker-a", 1, lambda row: None)
    h.commit("worker-a")
    return h


def test_a_write_that_waited_for_the_recovery_is_judged_by_when_it_took_effect() -> None:
    judgement = check(blocked(rows=0).build())
    assert (judgement.opportunities, judgement.findings) == (1, ())
    assert len(check(blocked(rows=1).build()).findings) == 1


@pytest.mark.parametrize(("actor", "found"), [("worker-a", 1), ("worker-b", 0)])
def test_without_tokens_the_process_is_judged(actor: str, found: int) -> None:
    h = recovered()
    h.begin(actor, "complete")
    h.sent(actor, job=1)
    h.ok(actor, rows=1)
    h.change(actor, 1, lambda row: None)
    h.commit(actor)
    judgement = check(h.build())
    assert (judgement.opportunities, len(judgement.findings)) == (found, found)


def test_what_an_owner_wrote_before_it_lost_the_job_is_no_late_write() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.heartbeat("worker-a")
    h.clock(60_000)
    h.recover()
    judgement = check(h.build())
    assert (judgement.opportunities, judgement.findings) == (0, ())


def test_a_late_effect_is_no_change_of_the_job() -> None:
    h = recovered()
    h.complete("worker-a", 1, commit=False)
    common = h.open_txn("worker-a").columns
    h.commit("worker-a")
    h.event("effect", **(common | {"job": 1, "key": 1}))
    judgement = check(h.build())
    assert (judgement.opportunities, judgement.findings) == (1, ())


def test_another_job_of_the_same_transaction_may_change() -> None:
    h = HistoryBuilder(batch=2)
    h.seed(2)
    h.claim("worker-a")
    h.recover(job=1)
    h.begin("worker-a", "complete")
    for job, rows in ((1, 0), (2, 1)):
        h.sent("worker-a", job=job, token=1)
        h.ok("worker-a", rows=rows)
    h.change("worker-a", 2, lambda row: None)
    h.commit("worker-a")
    judgement = check(h.build())
    assert (judgement.opportunities, judgement.findings) == (1, ())


def test_a_true_owner_whose_write_was_accepted_was_not_refused() -> None:
    h = recovered()
    h.heartbeat("worker-a", 1, accepted=True)
    h.complete("worker-b", 1)
    (finding,) = check(h.build()).findings
    assert "of whom no later write was refused" in finding.explanation


def test_a_refusal_of_the_stale_owner_is_not_taken_for_the_true_owners() -> None:
    h = recovered()
    h.heartbeat("worker-a", 1, accepted=True)
    h.complete("worker-a", 1)
    (finding,) = check(h.build()).findings
    assert "of whom no later write was refused" in finding.explanation


def test_an_interrupted_run_keeps_its_finding_and_an_unanswered_write_is_no_opportunity() -> None:
    h = recovered()
    h.complete("worker-a", 1, accepted=True)
    assert len(check(h.build(completed=False)).findings) == 1
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.begin("worker-a", "complete")
    h.sent("worker-a", job=1, token=1)
    assert check(h.build(completed=False)).opportunities == 0
