"""effect-once: second effects, missing effects, and attempts that were rightly refused."""

from simrunner.checkers.effect_once import check
from simrunner.history.builder import HistoryBuilder


def reclaimed() -> HistoryBuilder:
    """worker-a commits the effect of job 1 and is killed; worker-b claims it after its recovery."""
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.work_start("worker-a")
    h.effect("worker-a")
    h.kill("worker-a", "after-effect-before-complete")
    h.clock(60_000)
    h.recover()
    h.claim("worker-b")
    return h


def test_a_second_committed_effect_is_a_violation() -> None:
    h = reclaimed()
    h.effect("worker-b", accepted=True)
    h.complete("worker-b")
    judgement = check(h.build())
    [finding] = judgement.findings
    assert [h.events[seq - 1].kind for seq in finding.witness] == ["effect", "effect"]
    assert (finding.seq, finding.job, judgement.opportunities) == (finding.witness[1], 1, 2)


def test_a_second_attempt_that_was_refused_passes() -> None:
    h = reclaimed()
    h.effect("worker-b")
    h.complete("worker-b")
    judgement = check(h.build())
    assert (judgement.findings, judgement.opportunities) == ((), 2)


def test_a_second_effect_is_a_violation_whether_or_not_the_job_ends() -> None:
    h = reclaimed()
    h.effect("worker-b", accepted=True)
    assert len(check(h.build(completed=False)).findings) == 1


def test_effects_without_a_key_are_counted_by_job() -> None:
    h = HistoryBuilder()
    h.seed(2)
    h.claim("worker-a", 1)
    h.effect("worker-a", key=None, accepted=True)
    h.claim("worker-b", 2)
    h.effect("worker-b", key=None, accepted=True)
    assert not check(h.build()).findings
    h.effect("worker-b", key=None, accepted=True)
    assert [finding.job for finding in check(h.build()).findings] == [2]


def test_two_jobs_of_one_key_share_one_effect() -> None:
    h = HistoryBuilder()
    h.seed(2, key=7)
    for actor in ("worker-a", "worker-b"):
        h.claim(actor)
        h.effect(actor)
        h.complete(actor)
    assert not check(h.build()).findings


def test_a_done_job_without_an_effect_is_a_violation() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.complete("worker-a")
    [finding] = check(h.build()).findings
    assert (finding.job, h.events[finding.seq - 1].to_state) == (1, "done")


def test_a_done_job_needs_no_effect_where_the_design_has_none() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.complete("worker-a")
    assert not check(h.build(offers=frozenset({"claim", "complete"}))).findings


def test_an_interrupted_run_lacks_no_effect() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.complete("worker-a")
    assert not check(h.build(completed=False)).findings


def test_a_failed_job_needs_no_effect() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.fail("worker-a", to="failed")
    assert not check(h.build()).findings


def test_two_effects_of_one_key_are_a_violation_even_of_two_jobs() -> None:
    h = HistoryBuilder()
    h.seed(2, key=7)
    for actor in ("worker-a", "worker-b"):
        h.claim(actor)
        h.effect(actor, accepted=True)
        h.complete(actor)
    assert [finding.job for finding in check(h.build()).findings] == [2]
