"""A history as an interleaving: one column per actor, one line per step, up to the violation."""

from __future__ import annotations

from collections.abc import Sequence

from simrunner.history.by_hand import reference_context
from simrunner.model.event import Event
from simrunner.model.verdict import Finding
from simrunner.report.interleaving import interleaving
from simrunner.report.page import Page

CONTEXT = reference_context(job_names={1: "1"})
A = {"actor": "worker-a", "incarnation": 1, "session": 1, "txn": 1}
B = {"actor": "worker-b", "incarnation": 1, "session": 2, "txn": 2}


def history() -> list[Event]:
    rows: list[tuple[int, int, str, dict[str, object]]] = [
        (1, 0, "process-start", {**A, "value": "worker"}),
        (1, 0, "process-start", {**B, "value": "worker"}),
        (1, 0, "process-start", {"actor": "recoverer", "incarnation": 1, "value": "recoverer"}),
        (1, 1, "sent", {**A, "operation": "claim", "value": "BEGIN"}),
        (1, 1, "ok", {**A, "operation": "claim", "value": "BEGIN", "rows": 0}),
        (1, 2, "sent", {**A, "operation": "claim", "value": "1"}),
        (1, 2, "ok", {**A, "operation": "claim", "value": "1", "rows": 1}),
        (1, 2, "read", {**A, "operation": "claim", "job": 1}),
        (1, 3, "sent", {**B, "operation": "claim", "value": "1"}),
        (1, 3, "blocked", {**B, "operation": "claim", "value": "1", "blocked_by": "worker-a"}),
        (1, 4, "sent", {**A, "operation": "claim", "value": "COMMIT"}),
        (1, 4, "ok", {**A, "operation": "claim", "value": "COMMIT", "rows": 0}),
        (1, 4, "transition", {**A, "job": 1, "from_state": "ready", "to_state": "claimed"}),
        (1, 4, "freed", {**B, "operation": "claim", "value": "1"}),
        (1, 4, "ok", {**B, "operation": "claim", "value": "1", "rows": 0}),
        (1, 5, "fault", {**A, "value": "kill", "crash_point": "after-commit"}),
        (2, 6, "clock", {"value": "5000"}),
        (2, 7, "sent", {**B, "operation": "claim", "value": "1"}),
        (2, 7, "ok", {**B, "operation": "claim", "value": "1", "rows": 0}),
        (3, 8, "clock", {"value": "5000"}),
        (3, 9, "sent", {**B, "operation": "complete", "value": "1"}),
        (3, 9, "failed", {**B, "operation": "complete", "value": "1", "sqlstate": "40001"}),
    ]
    return [Event(seq, "safety", round_, step, kind=kind, **columns) for seq, (round_, step, kind, columns) in enumerate(rows, 1)]  # type: ignore[arg-type]


def lines(finding: Finding, events: Sequence[Event] | None = None) -> list[str]:
    text = Page(*interleaving(events or history(), CONTEXT, finding)).render(120, colour=False)
    return [" ".join(line.split()) for line in text.splitlines()]


def test_the_table_ends_with_the_violation() -> None:
    job = CONTEXT.job_names[1]
    assert lines(Finding("single-live-claim", 13, 1, (13,), "")) == [
        "step worker-a worker-b",
        "round 1",
        f"2 claim -> job {job}",
        "3 claim; BLOCKED by worker-a",
        f"4 COMMIT * job {job}: ready -> claimed <-- VIOLATED claim goes on -> 0 rows",
    ]


def test_an_absence_is_told_at_the_end_and_idle_rounds_in_one_line() -> None:
    job = CONTEXT.job_names[1]
    assert lines(Finding("no-job-lost", 13, 1, (13, 16), ""))[5:] == [
        "5 KILLED at after-commit",
        "round 2: nothing changes",
        "round 3, 5000 ms later",
        "9 complete; FAILED 40001",
        f"the end: job {job} is claimed <-- VIOLATED",
    ]


def test_a_connection_beside_the_first_is_named() -> None:
    lock, first = {**A, "session": 2}, {**A, "session": 1}
    rows: list[tuple[str, dict[str, object]]] = [
        ("process-start", {**first, "value": "worker"}),
        ("session-start", {**lock, "value": "lock"}),
        ("sent", {**lock, "operation": "claim", "value": "1"}),
        ("sent", {**lock, "operation": "claim", "value": "COMMIT"}),
        ("fault", {**lock, "value": "terminate-backend", "crash_point": "after-commit"}),
        ("sent", {**first, "operation": "effect", "value": "1"}),
    ]
    events = [
        Event(seq=seq, phase="safety", round=1, step=seq, kind=kind, **columns)  # type: ignore[arg-type]
        for seq, (kind, columns) in enumerate(rows, 1)
    ]
    assert lines(Finding("fenced-writes", 6, 1, (6,), ""), events)[2:] == [
        "2 opens another session on its connection lock",
        "3 claim on its connection lock",
        "4 COMMIT",
        "5 TERMINATE-BACKEND on its connection lock at after-commit",
        "6 effect <-- VIOLATED",
    ]


def test_a_session_that_is_lost_and_a_server_that_crashes() -> None:
    """The server has a column of its own once it has done something."""
    rows: list[tuple[int, str, dict[str, object]]] = [
        (0, "process-start", {**A, "value": "worker"}),
        (1, "fault", {"actor": "server", "value": "server-crash", "crash_point": "after-commit"}),
        (1, "server-restart", {"actor": "server"}),
        (1, "transition", {"actor": "server", "job": 1, "from_state": "claimed", "to_state": "ready"}),
        (2, "sent", {**A, "operation": "effect", "value": "BEGIN"}),
        (2, "unknown", {**A, "operation": "effect", "value": "BEGIN"}),
        (2, "session-start", A),
    ]
    events = [
        Event(seq=seq, phase="safety", round=1, step=step or None, kind=kind, **columns)  # type: ignore[arg-type]
        for seq, (step, kind, columns) in enumerate(rows, 1)
    ]
    crash = "1 SERVER-CRASH at after-commit * job 1: claimed -> ready"
    assert lines(Finding("claim-durable", 4, 1, (4,), ""), events)[2:] == [f"{crash} <-- VIOLATED"]
    assert lines(Finding("claim-durable", 7, 1, (7,), ""), events)[2:] == [crash, "2 UNKNOWN; opens another session <-- VIOLATED"]
