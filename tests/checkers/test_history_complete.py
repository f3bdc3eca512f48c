"""history-complete: final rows and audit trails that contradict the history, and those that only tell less."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from simrunner.checkers.history_complete import check
from simrunner.history.builder import HistoryBuilder
from simrunner.history.by_hand import unowned
from simrunner.history.context import AuditRow
from simrunner.history.history import History
from simrunner.model.job import JobRow, JobState


def run() -> HistoryBuilder:
    h = HistoryBuilder()
    h.seed(2)
    h.claim("worker-a")
    h.kill("worker-a")
    h.clock(60_000)
    h.recover()
    h.claim("worker-b", 1)
    h.complete("worker-b")
    h.claim("worker-b", 2)
    return h


def with_row(h: HistoryBuilder, job: int, **columns: Any) -> History:
    rows = [(number, row._replace(**columns) if number == job else row) for number, row in rows_of(h)]
    return h.build(final_jobs=tuple(rows))


def rows_of(h: HistoryBuilder) -> tuple[tuple[int, JobRow], ...]:
    return h.build().context.final_jobs or ()


def with_audit(h: HistoryBuilder, edit: Callable[[list[AuditRow]], list[AuditRow]]) -> History:
    return h.build(audit=tuple(edit(list(h.build().context.audit or ()))))


def differing(history: History) -> list[int | None]:
    return [finding.job for finding in check(history).findings]


def test_a_complete_history_agrees() -> None:
    judgement = check(run().build())
    assert (judgement.findings, judgement.opportunities) == ((), 2)


def test_another_final_state_is_a_violation() -> None:
    h = run()
    [finding] = check(with_row(h, 1, state=JobState.READY)).findings
    assert (finding.job, h.events[finding.seq - 1].to_state) == (1, "done")


def test_another_counter_owner_or_token_of_a_claimed_job_is_a_violation() -> None:
    assert differing(with_row(run(), 2, attempts=7)) == [2]
    assert differing(with_row(run(), 2, owner="worker-z.1")) == [2]
    assert differing(with_row(run(), 2, token="worker-z.1/1")) == [2]


def test_the_owner_of_a_job_that_ended_is_not_compared() -> None:
    assert not differing(with_row(run(), 1, owner="worker-z.1"))


def test_a_job_that_one_side_does_not_know_is_a_violation() -> None:
    h = run()
    rows = rows_of(h)
    assert differing(h.build(final_jobs=rows[:1])) == [2]
    assert differing(h.build(final_jobs=(*rows, (3, rows[0][1])))) == [3]


def test_a_deleted_job_has_no_final_row() -> None:
    h = run()
    h.begin("worker-b", "complete")
    h.change("worker-b", 1, lambda row: None)
    h.commit("worker-b")
    assert not differing(h.build())


def test_a_missing_audit_row_is_a_violation_at_that_move() -> None:
    h = run()
    [finding] = check(with_audit(h, lambda rows: rows[:1] + rows[2:])).findings
    move = h.events[finding.seq - 1]
    assert (move.from_state, move.to_state) == ("claimed", "ready")


def test_an_audit_row_too_many_is_a_violation() -> None:
    assert differing(with_audit(run(), lambda rows: [*rows, AuditRow(1, 2, 2, "claimed", "done")])) == [1]


def test_an_audit_row_with_another_token_or_attempt_is_a_violation() -> None:
    assert differing(with_audit(run(), lambda rows: [replace(rows[0], token=9), *rows[1:]])) == [1]
    assert differing(with_audit(run(), lambda rows: [replace(rows[0], attempt=9), *rows[1:]])) == [1]


def test_a_trail_without_tokens_or_attempts_is_compared_by_its_states() -> None:
    h = run()
    assert not differing(with_audit(h, lambda rows: [replace(row, token=None, attempt=None) for row in rows]))


def test_insertions_and_renewals_in_the_trail_are_left_out() -> None:
    inserted = AuditRow(1, 0, None, None, "ready")
    renewed = AuditRow(1, 1, 1, "claimed", "claimed")
    assert not differing(with_audit(run(), lambda rows: [inserted, rows[0], renewed, *rows[1:]]))


def test_without_a_trail_only_the_rows_are_compared() -> None:
    assert not differing(run().build(audit=None))


def test_an_interrupted_run_is_not_compared() -> None:
    judgement = check(run().build(completed=False))
    assert (judgement.findings, judgement.opportunities) == ((), 0)


@pytest.mark.parametrize(("audit", "found"), [((), 0), ((AuditRow(1, 1, 1, "ready", "claimed"),), 1)])
def test_what_a_crash_of_the_server_undid_is_not_in_the_trail(audit: tuple[AuditRow, ...], found: int) -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.rows[1] = replace(unowned(h.rows[1], "ready", h.rows[1].available_at), attempt=0)
    h.event("transition", actor="server", **h.rows[1].columns(), from_state="claimed")
    assert len(check(h.build(audit=audit)).findings) == found
