"""fenced-recovery: a recovery changes only what is still as its read saw it."""

from dataclasses import replace

import pytest

from simrunner.checkers.fenced_recovery import check
from simrunner.history.builder import HistoryBuilder
from simrunner.history.by_hand import unowned

RESCUER = "recoverer-1"


def lapsed(jobs: int = 1) -> HistoryBuilder:
    """worker-a has claimed job 1, and its lease has lapsed."""
    h = HistoryBuilder()
    h.seed(jobs)
    h.claim("worker-a")
    h.clock(60_000)
    return h


def read(h: HistoryBuilder, actor: str = RESCUER, *, job: int = 1) -> None:
    h.begin(actor, "recover-read")
    h.sent(actor)
    h.ok(actor, rows=1)
    h.read(actor, job, token=1)
    h.commit(actor)


def write(h: HistoryBuilder, actor: str = RESCUER, *, job: int = 1, accepted: bool = True) -> None:
    h.begin(actor, "recover-write")
    h.sent(actor, job=job)
    h.ok(actor, rows=int(accepted))
    if accepted:
        h.change(actor, job, lambda row: replace(unowned(row, "ready", row.available_at), completed_at=None))
    h.commit(actor)


def test_a_rescue_of_what_was_completed_in_between_is_found() -> None:
    h = lapsed()
    read(h)
    h.complete("worker-a")
    write(h)
    judgement = check(h.build())
    (finding,) = judgement.findings
    sent = [event for event in h.events if event.kind == "sent" and event.operation == "recover-read"][1]
    _, done, rescued = (event for event in h.events if event.kind == "transition")
    assert (finding.seq, finding.job) == (rescued.seq, 1)
    assert finding.witness == (sent.seq, done.seq, rescued.seq)
    assert "when it was done (claim 1). When it was read it was claimed (claim 1)" in finding.explanation
    assert "the complete transaction of worker-a.1 had made it done since" in finding.explanation


def test_a_rescue_of_what_it_read_passes() -> None:
    h = lapsed()
    read(h)
    write(h)
    judgement = check(h.build())
    assert (judgement.opportunities, judgement.findings) == (1, ())


def test_a_rescue_that_is_refused_passes() -> None:
    h = lapsed()
    read(h)
    h.complete("worker-a")
    write(h, accepted=False)
    judgement = check(h.build())
    assert (judgement.opportunities, judgement.findings) == (1, ())


def test_the_next_claim_is_another_one() -> None:
    """Claimed then and claimed now, but not the same claim."""
    h = lapsed()
    read(h)
    h.recover("recoverer-2")
    h.claim("worker-b")
    write(h)
    (finding,) = check(h.build()).findings
    assert "when it was claimed (claim 2). When it was read it was claimed (claim 1)" in finding.explanation


def test_two_rescuers_of_one_claim() -> None:
    """The second writes what the first has made ready: its change is a mere renewal."""
    h = lapsed()
    read(h)
    read(h, "recoverer-2")
    write(h)
    write(h, "recoverer-2")
    judgement = check(h.build())
    assert judgement.opportunities == 2
    assert [finding.job for finding in judgement.findings] == [1]


def test_a_new_read_makes_it_right() -> None:
    h = lapsed()
    read(h)
    h.recover("recoverer-2")
    h.claim("worker-b")
    h.clock(60_000)
    read(h)
    write(h)
    assert check(h.build()).findings == ()


def test_another_process_own_read_does_not_count() -> None:
    h = lapsed()
    read(h)
    h.complete("worker-a")
    read(h, "recoverer-2")
    write(h)
    assert len(check(h.build()).findings) == 1


def test_a_renewed_lease_is_the_same_claim() -> None:
    """Whether its lease has lapsed is a question to lease-honoured."""
    h = lapsed()
    read(h)
    h.heartbeat("worker-a")
    write(h)
    assert check(h.build()).findings == ()


@pytest.mark.parametrize("operation", ["recover", "recover-batch"])
def test_of_one_statement_only_the_state_is_judged(operation: str) -> None:
    h = lapsed()
    h.recover(operation=operation)
    assert check(h.build()).findings == ()
    h.claim("worker-b", 1)
    h.complete("worker-b")
    h.recover(job=1, operation=operation)
    (finding,) = check(h.build()).findings
    assert "when it was done (claim 2). It had ended" in finding.explanation


def test_a_read_that_waited_saw_what_was_there_when_it_went_on() -> None:
    h = lapsed()
    h.begin("worker-a", "complete")
    h.sent("worker-a", job=1, token=1)
    h.ok("worker-a", rows=1)
    h.change("worker-a", 1, lambda row: unowned(row, "ready", row.available_at))
    h.begin(RESCUER, "recover-read")
    h.sent(RESCUER)
    h.blocked(RESCUER, "worker-a")
    h.commit("worker-a")
    h.freed(RESCUER)
    h.ok(RESCUER, rows=1)
    h.read(RESCUER, 1)
    h.commit(RESCUER)
    write(h)
    assert check(h.build()).findings == ()


def test_without_a_recovery_there_is_no_opportunity() -> None:
    h = lapsed()
    h.complete("worker-a")
    assert check(h.build()).opportunities == 0
