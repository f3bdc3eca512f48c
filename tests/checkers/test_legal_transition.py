"""legal-transition: only what the design's table declares."""

from simrunner.checkers.legal_transition import check
from simrunner.history.builder import HistoryBuilder
from simrunner.history.by_hand import REFERENCE_TRANSITIONS
from simrunner.model.event import SERVER


def stolen() -> HistoryBuilder:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.claim("worker-b", 1)
    return h


def test_an_undeclared_steal_is_found() -> None:
    h = stolen()
    judgement = check(h.build())
    (finding,) = judgement.findings
    assert judgement.opportunities == 2
    assert (finding.job, finding.seq, finding.witness) == (1, h.events[-3].seq, (h.events[-3].seq,))
    assert finding.explanation == (
        "The claim transaction of worker-b.1 took job {job:1} from claimed to claimed, which the design does not declare."
    )


def test_a_declared_steal_passes() -> None:
    judgement = check(stolen().build(transitions=REFERENCE_TRANSITIONS | {("claimed", "claimed")}))
    assert (judgement.opportunities, judgement.findings) == (2, ())


def test_a_terminal_job_that_comes_back_is_found() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.complete("worker-a")
    h.recover(job=1)
    (finding,) = check(h.build()).findings
    assert "The recover transaction of recoverer-1.1 took job {job:1} from done to ready" in finding.explanation


def test_a_deleted_row_is_a_transition_to_no_row() -> None:
    h = HistoryBuilder()
    h.enqueue()
    h.begin("worker-a", "complete")
    h.sent("worker-a", job=1)
    h.ok("worker-a", rows=1)
    h.change("worker-a", 1, lambda row: None)
    h.commit("worker-a")
    (finding,) = check(h.build()).findings
    assert "from ready to no row" in finding.explanation
    assert check(h.build(transitions=REFERENCE_TRANSITIONS | {("ready", None)})).findings == ()


def test_renewals_and_the_fixture_are_no_transitions() -> None:
    h = HistoryBuilder()
    h.seed(1)
    assert check(h.build()).opportunities == 0
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.heartbeat("worker-a")
    assert check(h.build()).opportunities == 1


def test_what_a_server_restart_undid_is_not_the_designs_doing() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.event("transition", actor=SERVER, job=1, from_state="done", to_state="claimed")
    assert check(h.build()).opportunities == 0
