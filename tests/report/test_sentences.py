"""What is told of a step is what its events say: waits, what freed them, results, refusals, locks, crashes."""

from __future__ import annotations

from typing import Any

import pytest

from simrunner.history.builder import HistoryBuilder
from simrunner.history.history import History
from simrunner.model.workload import SCRIPT_ACTIONS, Expectation, ScriptStep
from simrunner.report.acceptance.sentences import sentences

A, B = "worker-a", "worker-b"


def waiting(how: str) -> History:
    """B waits for A's open claim, which ends in step 3."""
    h = HistoryBuilder()
    h.seed(2)
    h.claim(A, commit=False)
    h.round(2)
    h.begin(B, "candidates")
    h.sent(B)
    h.blocked(B, A)
    h.round(3)
    if how == "COMMIT":
        h.commit(A)
    elif how == "ROLLBACK":
        h.rollback(A)
    else:
        h.kill(A, gone=True)
    h.freed(B)
    h.ok(B, rows=1)
    h.read(B, 2 if how == "COMMIT" else 1)
    h.commit(B)
    last = ScriptStep("kill", A) if how == "kill" else ScriptStep(how.lower(), A)
    return h.build(script=(ScriptStep("claim", A), ScriptStep("candidates", B, lock="FOR UPDATE", limit=1), last))


@pytest.mark.parametrize(
    ("how", "end", "job"),
    [
        ("COMMIT", "COMMIT of worker-a", 2),
        ("ROLLBACK", "ROLLBACK of worker-a", 1),
        ("kill", "the server process of worker-a had gone", 1),
    ],
)
def test_a_wait_names_what_ended_it(how: str, end: str, job: int) -> None:
    told = sentences(waiting(how))
    assert told[1] == f"worker-b asked for candidates LIMIT 1 FOR UPDATE: waited for worker-a until {end}; returned job {job}."


def test_a_claim_says_whether_it_is_committed() -> None:
    h = HistoryBuilder()
    h.seed(2)
    h.claim(A)
    h.round(2)
    h.claim(A, commit=False)
    h.round(3)
    h.rollback(A)
    told = sentences(h.build(script=(ScriptStep("claim", A), ScriptStep("claim", A), ScriptStep("rollback", A))))
    assert told[0] == "worker-a claimed: returned job 1, committed."
    assert told[2] == "worker-a sent ROLLBACK: nothing of it was kept."


def test_an_open_claim_is_not_called_committed() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.round(1)
    h.begin(A, "claim")
    h.round(2)
    h.send_claim(A, 1)
    h.claimed(A, [1], 1)
    h.round(3)
    h.commit(A)
    told = sentences(h.build(script=(ScriptStep("begin", A), ScriptStep("claim", A), ScriptStep("commit", A))))
    assert told == (
        "worker-a began a transaction.",
        "worker-a claimed: returned job 1, not committed yet.",
        "worker-a sent COMMIT: job 1 went from ready to claimed.",
    )


def test_an_empty_claim_and_a_failure() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim(A)
    h.round(2)
    h.claim_nothing(B)
    h.round(3)
    h.begin(B, "claim")
    h.send_claim(B, 9)
    h.failed(B, "40001")
    h.rollback(B)
    steps = (ScriptStep("claim", A), ScriptStep("claim", B, expect=Expectation(waits=False)), ScriptStep("claim", B))
    assert sentences(h.build(script=steps))[1:] == (
        "worker-b claimed: did not wait; returned no job.",
        "worker-b claimed: failed with 40001 (SerializationFailure).",
    )


@pytest.mark.parametrize(("accepted", "words"), [(None, "refused, 0 rows"), (True, "accepted; job 1 went from ready to done")])
def test_a_late_completion(accepted: bool | None, words: str) -> None:
    h = HistoryBuilder()
    h.seed(1)
    token = h.claim(A)
    h.round(2)
    h.kill(A, "after-commit")
    h.round(3)
    h.clock(60_000)
    h.recover()
    h.round(4)
    h.complete("late", 1, token=token, accepted=accepted)
    script = (
        ScriptStep("claim", A),
        ScriptStep("kill", A, crash_point="after-commit"),
        ScriptStep("recover", "recoverer-1"),
        ScriptStep("complete", "late", claim_of=A),
    )
    told = sentences(h.build(script=script))
    assert told[1] == "worker-a was killed at after-commit: its server process had gone before the next step."
    assert told[2] == "recoverer-1 ran the recovery: job 1 went from claimed to ready at rank 1."
    assert told[3] == f"late asked to complete job 1 with token worker-a.1/1, the claim of worker-a: {words}."


def test_a_look_says_who_locks() -> None:
    h = HistoryBuilder()
    h.seed(2)
    h.phase("safety")
    h.event("probe", actor="observer", operation="claim", job=1, rank=1, blocked_by=A)
    h.event("probe", actor="observer", operation="claim", job=2, rank=2)
    told = sentences(h.build(script=(ScriptStep("look"),)))
    assert told == ("The skip probe listed the ready jobs: 1 (locked by worker-a), 2.",)


def test_a_step_that_was_not_taken() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.event("report", **(h.who(A) | {"value": "not taken", "round": 1}))
    assert sentences(h.build(script=(ScriptStep("claim", A),))) == ("worker-a claimed: not taken, it was dead or still blocked.",)


@pytest.mark.parametrize("action", SCRIPT_ACTIONS)
def test_every_action_can_be_told(action: str) -> None:
    step: dict[str, Any] = {"actor": A, "job": "1", "mode": "EXCLUSIVE", "ms": 5}
    h = HistoryBuilder()
    h.seed(1)
    [told] = sentences(h.build(script=(ScriptStep(action, **step),)))
    assert told.endswith(".")
