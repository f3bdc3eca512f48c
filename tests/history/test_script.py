"""Which events belong to which step of a script, also where a step waits for another."""

from simrunner.history.builder import HistoryBuilder
from simrunner.history.history import History
from simrunner.model.event import OBSERVER
from simrunner.model.workload import ScriptStep

A, B = "worker-a", "worker-b"


def waiting() -> History:
    """B waits for A's open claim in step 3; A's COMMIT in step 5 frees it; step 4 could not be taken."""
    script = (
        ScriptStep("begin", A),
        ScriptStep("claim", A),
        ScriptStep("candidates", B, lock="FOR UPDATE"),
        ScriptStep("claim", B),
        ScriptStep("commit", A),
        ScriptStep("claim", B),
    )
    h = HistoryBuilder()
    h.seed(3)
    h.round(1)
    h.begin(A, "claim")
    h.round(2)
    h.claimed(A, [h.send_claim(A, 1)[0]], 1)
    h.round(3)
    h.begin(B, "candidates")
    h.sent(B)
    h.blocked(B, A)
    h.round(4)
    h.event("report", **(h.who(B) | {"value": "not taken"}))
    h.round(5)
    h.commit(A)
    h.freed(B)
    h.ok(B, rows=1)
    h.read(B, 2)
    h.commit(B)
    h.round(6)
    h.claim(B, 2)
    return h.build(script=script)


def test_what_waited_goes_on_in_its_own_step() -> None:
    action = waiting().actions[2]
    assert action.blocked is not None
    assert action.freed is not None
    assert (action.jobs, action.rows, action.freed.round) == ((2,), 1, 5)


def test_a_step_that_was_not_taken_has_only_that_event() -> None:
    action = waiting().actions[3]
    assert [event.value for event in action.events] == ["not taken"]
    assert not action.taken


def test_the_end_of_an_own_transaction_is_no_outcome() -> None:
    action = waiting().actions[5]
    assert [event.value for event in action.outcomes] == ["1"]
    assert (action.jobs, action.rows) == ((2,), 1)


def test_every_event_of_the_safety_phase_belongs_to_one_step() -> None:
    history = waiting()
    told = [event for action in history.actions for event in action.events if event.kind != "process-start"]
    acting = [event for event in history.events if event.actor in (A, B) and event.kind != "process-start"]
    assert sorted(told) == acting


def test_what_the_observer_saw_belongs_to_the_look() -> None:
    h = HistoryBuilder()
    h.seed(2)
    h.phase("safety")
    h.event("probe", actor="observer", operation="claim", job=1, rank=1)
    h.event("probe", actor="observer", operation="claim", job=2, rank=2)
    history = h.build(script=(ScriptStep("look"),))
    assert history.actions[0].jobs == (1, 2)


def test_rounds_have_no_steps() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim(A)
    assert h.build().actions == ()


def looked(*, locked: bool) -> History:
    """A may hold job 1 while the coordinator looks."""
    h = HistoryBuilder()
    h.seed(2)
    h.round(1)
    h.claim(A, commit=False)
    h.round(2)
    for rank in (1, 2):
        h.event("probe", actor=OBSERVER, operation="claim", job=rank, rank=rank, blocked_by=A if locked and rank == 1 else None)
    h.round(3)
    h.rollback(A)
    return h.build(script=(ScriptStep("claim", A), ScriptStep("look"), ScriptStep("rollback", A)))


def test_a_look_tells_who_has_locked_the_first_job() -> None:
    action = looked(locked=True).actions[1]
    assert action.blocked is not None
    assert (action.jobs, action.blocked.blocked_by) == ((1, 2), A)
    assert looked(locked=False).actions[1].blocked is None


def test_of_a_report_the_ready_jobs_count() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.begin(A, "report")
    h.sent(A)
    h.ok(A, rows=2)
    for state, number in (("claimed", "3"), ("ready", "4")):
        h.event("report", **(h.open_txn(A).columns | {"to_state": state, "value": number}))
    h.commit(A)
    report = h.build(script=(ScriptStep("report", A),)).actions[0].report
    assert report is not None
    assert report.value == "4"
