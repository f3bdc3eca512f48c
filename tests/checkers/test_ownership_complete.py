"""ownership-complete: claimed rows have all ownership columns, ready rows none, done rows a completion time."""

import pytest

from simrunner.checkers.ownership_complete import check
from simrunner.history.builder import HistoryBuilder
from simrunner.model.design import Ownership
from simrunner.model.job import Held

FULL = Held.OWNER | Held.TOKEN | Held.CLAIMED_AT | Held.LEASE


@pytest.mark.parametrize(
    ("missing", "word"),
    [(Held.OWNER, "owner"), (Held.TOKEN, "token"), (Held.CLAIMED_AT, "claim time"), (Held.LEASE, "lease")],
)
def test_a_claimed_row_that_lacks_a_column_is_found(missing: Held, word: str) -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a", held=int(FULL & ~missing))
    claim = h.events[-1]
    judgement = check(h.build())
    (finding,) = judgement.findings
    assert (judgement.opportunities, finding.seq, finding.job, finding.witness) == (1, claim.seq, 1, (claim.seq,))
    assert finding.explanation == f"The claim transaction of worker-a.1 left job {{job:1}} claimed without {word}."


@pytest.mark.parametrize(("kept", "word"), [(Held.OWNER, "owner"), (Held.TOKEN, "token"), (Held.LEASE, "lease")])
def test_a_ready_row_that_keeps_a_column_is_found(kept: Held, word: str) -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.release("worker-a", held=int(kept))
    (finding,) = check(h.build()).findings
    assert finding.explanation == f"The release transaction of worker-a.1 left job {{job:1}} ready with {word}."


def test_a_done_row_without_completion_time_is_found() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.complete("worker-a", completed_at=None)
    (finding,) = check(h.build()).findings
    assert "done without completion time" in finding.explanation


def test_a_correct_life_of_a_job_passes() -> None:
    h = HistoryBuilder()
    h.seed(2)
    h.enqueue()
    h.claim("worker-a")
    h.heartbeat("worker-a")
    h.release("worker-a")
    h.claim("worker-b", 1)
    h.complete("worker-b")
    judgement = check(h.build())
    assert (judgement.opportunities, judgement.findings) == (6, ())


def test_a_renewal_that_clears_the_lease_is_found() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.heartbeat("worker-a", lease_until=None)
    assert len(check(h.build()).findings) == 1


@pytest.mark.parametrize(("ownership", "found"), [(Ownership.LEASE, 1), (Ownership.ROW, 0), (Ownership.LOCK, 0)])
def test_only_a_lease_design_needs_a_lease(ownership: Ownership, found: int) -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a", lease_until=None)
    assert len(check(h.build(ownership=ownership)).findings) == found


def test_failed_rows_and_the_fixture_are_no_opportunity() -> None:
    h = HistoryBuilder()
    h.seed(1, held=31)
    assert check(h.build()).opportunities == 0
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.fail("worker-a", to="failed")
    assert check(h.build()).opportunities == 1
