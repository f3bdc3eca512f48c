"""no-job-lost: jobs that went missing in each way, and those that only look lost."""

from dataclasses import replace

from simrunner.checkers.no_job_lost import check
from simrunner.history.builder import HistoryBuilder
from simrunner.history.history import History
from simrunner.model.design import Ownership


def lost(history: History) -> list[int | None]:
    return [finding.job for finding in check(history).findings]


def finish(h: HistoryBuilder, actor: str = "worker-a") -> None:
    h.work_start(actor)
    h.effect(actor)
    h.work_end(actor)
    h.complete(actor)


def test_a_job_of_a_dead_owner_that_nobody_recovers_is_lost() -> None:
    h = HistoryBuilder()
    h.seed(2)
    h.claim("worker-a")
    h.kill("worker-a", "after-commit")
    h.claim("worker-b")
    finish(h, "worker-b")
    h.phase("liveness")
    h.clock(60_000)
    judgement = check(h.build())
    [finding] = judgement.findings
    assert (finding.job, h.events[finding.seq - 1].kind, judgement.opportunities) == (1, "transition", 2)
    assert "worker-a.1, which is dead since event" in finding.explanation
    assert "process-end" in [h.events[seq - 1].kind for seq in finding.witness]


def test_a_job_that_was_recovered_and_completed_passes() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.kill("worker-a", "after-commit")
    h.clock(60_000)
    h.recover()
    h.claim("worker-b")
    finish(h, "worker-b")
    assert not lost(h.build())


def test_a_job_that_nobody_ever_claimed_is_lost() -> None:
    h = HistoryBuilder()
    h.seed(2)
    h.claim("worker-a")
    finish(h)
    [finding] = check(h.build()).findings
    assert (finding.job, h.events[finding.seq - 1].kind) == (2, "seed")
    assert "never claimed" in finding.explanation


def test_its_last_event_is_not_a_probe_or_a_refused_write() -> None:
    h = HistoryBuilder()
    h.seed(1)
    token = h.claim("worker-a")
    h.kill("worker-a")
    h.clock(60_000)
    h.recover()
    recovered = len(h.events)
    h.claim_nothing("worker-b")
    h.complete("ghost", 1, token=token)
    assert [finding.seq for finding in check(h.build()).findings] == [recovered]


def test_a_vanished_row_is_a_lost_job() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.begin("worker-a", "claim")
    h.change("worker-a", 1, lambda row: None)
    h.commit("worker-a")
    [finding] = check(h.build()).findings
    assert "vanished from state ready" in finding.explanation


def test_a_row_deleted_after_its_end_is_not_lost() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    finish(h)
    h.begin("worker-a", "complete")
    h.change("worker-a", 1, lambda row: None)
    h.commit("worker-a")
    assert not lost(h.build())


def test_a_job_ended_by_one_who_never_ran_it_is_lost() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.complete("worker-b", 1, token=99, accepted=True)
    [finding] = check(h.build()).findings
    assert "complete of worker-b.1 ended it with success, but had never claimed it" in finding.explanation


def test_a_ghost_that_presents_the_token_of_a_claim_speaks_for_one_who_ran_it() -> None:
    h = HistoryBuilder()
    h.seed(1)
    token = h.claim("worker-a")
    h.kill("worker-a")
    h.complete("ghost", 1, token=token)
    assert not lost(h.build())


def test_a_failed_job_has_an_end() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.fail("worker-a", to="failed")
    assert not lost(h.build())


def test_an_interrupted_run_shows_no_absence() -> None:
    h = HistoryBuilder()
    h.seed(1)
    assert not lost(h.build(completed=False))


def test_jobs_outside_the_cohort_may_be_left_ready() -> None:
    h = HistoryBuilder()
    h.seed(1, cohort=None)
    judgement = check(h.build())
    assert (judgement.findings, judgement.opportunities) == ((), 0)
    assert lost(h.build(cohort="all")) == [1]


def test_an_enqueued_job_counts_only_if_it_was_acknowledged() -> None:
    h = HistoryBuilder()
    h.enqueue()
    assert lost(h.build(cohort="all")) == [1]
    h = HistoryBuilder()
    h.begin("producer-1", "enqueue")
    h.sent("producer-1")
    h.ok("producer-1", rows=1)
    common = h.open_txn("producer-1").columns
    h.on_commit("producer-1", lambda: h.event("transition", **common, job=1, generation=0, to_state="ready"))
    h.commit("producer-1", ack=False)
    h.kill("producer-1")
    judgement = check(h.build(cohort="all", final_jobs=None))
    assert (judgement.findings, judgement.opportunities) == ((), 0)


def test_a_job_outside_the_cohort_may_not_stay_with_a_lapsed_owner_that_recovery_ignores() -> None:
    h = HistoryBuilder()
    h.seed(1, cohort=None)
    h.claim("worker-a")
    h.kill("worker-a")
    h.clock(60_000)
    h.recover(job=[])
    assert lost(h.build()) == [1]


def test_a_job_outside_the_cohort_may_still_wait_for_its_recovery() -> None:
    h = HistoryBuilder()
    h.seed(1, cohort=None)
    h.recover(job=[])
    h.claim("worker-a")
    h.kill("worker-a")
    assert not lost(h.build())
    h.recover(job=[])
    h.clock(60_000)
    assert not lost(h.build())


def test_without_a_lease_a_dead_owner_keeps_a_job_for_ever() -> None:
    h = HistoryBuilder()
    h.seed(2, cohort=None)
    h.claim("worker-a", lease_until=None)
    h.claim("worker-b", lease_until=None)
    h.kill("worker-a")
    assert lost(h.build(ownership=Ownership.ROW)) == [1]


def test_where_the_lock_is_the_claim_a_job_is_ended_by_the_one_it_was_returned_to() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.begin("worker-a", "claim")
    h.send_claim("worker-a", 1)
    h.ok("worker-a", rows=1)
    h.read("worker-a", 1)
    h.change("worker-a", 1, lambda row: replace(row, state="done"))
    h.commit("worker-a")
    assert not lost(h.build(ownership=Ownership.LOCK))


def test_a_valid_lease_needs_no_recovery() -> None:
    h = HistoryBuilder()
    h.seed(1, cohort=None)
    h.claim("worker-a")
    h.kill("worker-a")
    assert not lost(h.build())


def test_an_owner_that_ends_when_the_run_is_wound_up_is_not_dead() -> None:
    h = HistoryBuilder()
    h.seed(1, cohort=None)
    h.claim("worker-a", lease_until=None)
    h.phase("end")
    h.event("process-end", actor="worker-a", incarnation=1, value="exit")
    assert not lost(h.build(ownership=Ownership.ROW))
