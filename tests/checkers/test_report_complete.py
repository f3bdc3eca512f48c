"""report-complete: reports that miss what is locked or see what they must not, and those that are right at their snapshot."""

from collections.abc import Callable, Mapping

from simrunner.checkers.report_complete import check
from simrunner.history.builder import HistoryBuilder


def send(h: HistoryBuilder, actor: str = "reporter", value: str = "1") -> None:
    h.sent(actor, value)


def tell(h: HistoryBuilder, numbers: Mapping[str | None, int], actor: str = "reporter") -> None:
    """Let the report that was sent return one row for each number."""
    h.ok(actor, rows=len(numbers))
    for state, number in numbers.items():
        h.event("report", **(h.open_txn(actor).columns | {"to_state": state, "value": str(number)}))


def report(h: HistoryBuilder, numbers: Mapping[str | None, int], actor: str = "reporter") -> None:
    h.begin(actor, "report")
    send(h, actor)
    tell(h, numbers, actor)
    h.commit(actor)


def test_a_report_that_misses_a_locked_job_is_a_violation() -> None:
    h = HistoryBuilder()
    h.seed(3)
    h.claim("worker-a", commit=False)
    report(h, {"ready": 2})
    judgement = check(h.build())
    [finding] = judgement.findings
    assert (h.events[finding.seq - 1].kind, h.events[finding.seq - 1].value, judgement.opportunities) == ("report", "2", 1)
    assert "2 ready jobs where there were 3" in finding.explanation


def test_a_report_that_does_not_see_an_open_claim_passes() -> None:
    h = HistoryBuilder()
    h.seed(3)
    h.claim("worker-a", commit=False)
    report(h, {"ready": 3})
    judgement = check(h.build())
    assert (judgement.findings, judgement.opportunities) == ((), 1)


def test_a_report_that_sees_an_open_claim_is_a_violation() -> None:
    h = HistoryBuilder()
    h.seed(3)
    h.claim("worker-a", commit=False)
    report(h, {"ready": 2, "claimed": 1})
    assert len(check(h.build()).findings) == 1


def test_every_state_counts() -> None:
    h = HistoryBuilder()
    h.seed(3)
    h.claim("worker-a")
    h.complete("worker-a")
    h.claim("worker-a")
    report(h, {"ready": 1, "claimed": 1, "done": 1})
    assert not check(h.build()).findings
    report(h, {"ready": 1, "claimed": 1, "done": 2})
    assert len(check(h.build()).findings) == 1


def test_a_state_without_a_row_is_reported_as_none() -> None:
    h = HistoryBuilder()
    h.seed(2)
    h.claim("worker-a")
    report(h, {"ready": 1})
    [finding] = check(h.build()).findings
    assert "0 claimed jobs where there were 1" in finding.explanation
    assert h.events[finding.seq - 1].kind == "ok"


def test_a_report_without_a_row_says_that_there_are_no_jobs() -> None:
    h = HistoryBuilder()
    report(h, {})
    assert not check(h.build()).findings
    h = HistoryBuilder()
    h.seed(1)
    report(h, {})
    assert len(check(h.build()).findings) == 1


def test_one_number_without_a_state_is_that_of_the_ready_jobs() -> None:
    h = HistoryBuilder()
    h.seed(2)
    h.claim("worker-a")
    report(h, {None: 1})
    assert not check(h.build()).findings
    report(h, {None: 2})
    assert len(check(h.build()).findings) == 1


def in_one_snapshot(second: int) -> HistoryBuilder:
    """The reporter's transaction keeps its snapshot; a claim commits between its two reports."""
    h = HistoryBuilder()
    h.seed(3)
    h.begin("reporter", "report")
    send(h)
    tell(h, {"ready": 3})
    h.claim("worker-a")
    h.tick()
    first = next(event for event in h.events if event.operation == "report" and event.value == "1")
    told = h.open_txn("reporter").columns | {"value": "1", "snapshot_seq": first.snapshot_seq}
    h.event("sent", **told)
    h.event("ok", **(told | {"rows": 1}))
    h.event("report", **(told | {"to_state": "ready", "value": str(second)}))
    h.commit("reporter")
    return h


def test_a_kept_snapshot_says_the_same_twice() -> None:
    judgement = check(in_one_snapshot(3).build())
    assert (judgement.findings, judgement.opportunities) == ((), 2)


def test_a_kept_snapshot_that_moves_is_a_violation() -> None:
    assert len(check(in_one_snapshot(2).build()).findings) == 1


def waiting_report(numbers: Mapping[str | None, int], meanwhile: Callable[[HistoryBuilder], object]) -> HistoryBuilder:
    h = HistoryBuilder()
    h.seed(3)
    h.begin("reporter", "report")
    send(h)
    h.blocked("reporter", "worker-a")
    meanwhile(h)
    h.freed("reporter")
    tell(h, numbers)
    h.commit("reporter")
    return h


def test_a_report_that_waited_may_say_what_was_true_at_any_moment_of_the_wait() -> None:
    truths: tuple[dict[str | None, int], ...] = ({"ready": 3}, {"ready": 2, "claimed": 1})
    for numbers in truths:
        assert not check(waiting_report(numbers, lambda h: h.claim("worker-a")).build()).findings


def test_a_report_that_waited_may_not_say_what_was_never_true() -> None:
    assert len(check(waiting_report({"ready": 1}, lambda h: h.claim("worker-a")).build()).findings) == 1


def test_a_report_that_sees_its_own_open_changes_is_not_judged() -> None:
    h = HistoryBuilder()
    h.seed(3)
    h.claim("worker-a", commit=False)
    h.sent("worker-a", operation="report")
    h.ok("worker-a", rows=2, operation="report")
    for state, number in (("ready", 2), ("claimed", 1)):
        columns = h.open_txn("worker-a").columns | {"operation": "report", "to_state": state, "value": str(number)}
        h.event("report", **columns)
    h.commit("worker-a")
    judgement = check(h.build())
    assert (judgement.findings, judgement.opportunities) == ((), 0)


def test_a_report_of_two_statements_is_judged_by_its_last() -> None:
    h = HistoryBuilder()
    h.seed(3)
    h.begin("reporter", "report")
    send(h)
    h.ok("reporter", rows=0)
    send(h, value="2")
    tell(h, {"ready": 3})
    h.commit("reporter")
    judgement = check(h.build())
    assert (judgement.findings, judgement.opportunities) == ((), 1)


def test_a_report_that_failed_said_nothing() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.begin("reporter", "report")
    send(h)
    h.failed("reporter", "0A000")
    h.rollback("reporter")
    judgement = check(h.build())
    assert (judgement.findings, judgement.opportunities) == ((), 0)


def test_rows_whose_numbers_are_not_mapped_are_not_judged() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.begin("reporter", "report")
    send(h)
    h.ok("reporter", rows=4)
    h.commit("reporter")
    judgement = check(h.build())
    assert (judgement.findings, judgement.opportunities) == ((), 0)
