"""claim-batch-bound: a claim changes as many jobs as it may, and every one of them reaches its worker."""

from dataclasses import replace

from simrunner.checkers.claim_batch_bound import check
from simrunner.history.builder import HistoryBuilder
from simrunner.model.workload import ScriptStep


def test_a_claim_of_more_than_its_batch_is_found() -> None:
    h = HistoryBuilder()
    h.seed(3)
    h.claim("worker-a", [1, 2, 3])
    judgement = check(h.build())
    (finding,) = judgement.findings
    claims = [event.seq for event in h.events if event.kind == "transition"]
    sent = next(event.seq for event in h.events if event.kind == "sent" and event.value == "1")
    assert judgement.opportunities == 1
    assert (finding.seq, finding.job, finding.witness) == (claims[1], 2, (sent, *claims[:2]))
    assert "The claim of worker-a.1 was to take 1 at most, but it changed 3 jobs" in finding.explanation


def test_a_full_batch_passes() -> None:
    h = HistoryBuilder(batch=3)
    h.seed(3)
    h.claim("worker-a")
    h.claim_nothing("worker-b")
    judgement = check(h.build())
    assert (judgement.opportunities, judgement.findings) == (1, ())


def test_a_step_of_a_script_says_how_many() -> None:
    for limit, found in ((2, 0), (1, 1)):
        h = HistoryBuilder()
        h.seed(2)
        h.claim("worker-a", [1, 2])
        history = h.build(script=(ScriptStep("claim", "worker-a", limit=limit),))
        assert len(check(history).findings) == found


def test_a_job_that_was_claimed_for_nobody_is_found() -> None:
    """worker-a dies while its claim, a statement of its own, is under way; the server commits it all the same."""
    h = HistoryBuilder()
    h.seed(2)
    written(h, 1)
    h.kill("worker-a", gone=False)
    h.backend_gone("worker-a", durable=True)
    (finding,) = check(h.build()).findings
    assert finding.job == 1
    assert "The claim of worker-a.1, which was dead by then, committed job {job:1} as claimed, but" in finding.explanation
    assert "its statement had no answer" in finding.explanation


def test_a_lost_acknowledgement_of_a_delivered_job_passes() -> None:
    h = HistoryBuilder()
    h.seed(2)
    h.claim("worker-a", 1, commit=False)
    h.commit("worker-a", ack=False)
    h.kill("worker-a")
    judgement = check(h.build())
    assert (judgement.opportunities, judgement.findings) == (1, ())


def test_a_job_that_was_changed_and_not_returned_is_found() -> None:
    h = HistoryBuilder(batch=2)
    h.seed(2)
    written(h, 1, 2)
    h.ok("worker-a", rows=1)
    h.read("worker-a", 1, token=1)
    h.commit("worker-a")
    (finding,) = check(h.build()).findings
    assert finding.job == 2
    assert "The claim of worker-a.1 committed job {job:2} as claimed, but it did not return it" in finding.explanation


def written(h: HistoryBuilder, *jobs: int) -> None:
    """worker-a has sent a claim whose transaction has changed these jobs."""
    h.begin("worker-a", "claim")
    h.token_names[1] = "worker-a.1/1"
    h.send_claim("worker-a", 1)
    for job in jobs:
        h.change("worker-a", job, lambda row: replace(row, state="claimed", generation=1, owner="worker-a.1", token=1))
