"""The views of a history."""

from collections.abc import Callable
from typing import Any

import pytest

from simrunner.history.builder import HistoryBuilder
from simrunner.history.intervals import TxnEnd
from tests.history.test_builder import crash_and_recovery


def test_ownership_intervals_say_who_ended_them() -> None:
    first, second = crash_and_recovery().build().ownership[1]
    assert (first.owner, first.token, first.generation) == ("worker-a.1", 1, 1)
    assert first.end is not None
    assert (first.end.operation, first.ended_by_owner, first.ended_by_another) == ("recover", False, True)
    assert (second.owner, second.ended_by_owner, len(second.renewals)) == ("worker-b.1", True, 1)


def test_a_lease_is_that_of_the_last_renewal_before_a_moment() -> None:
    second = crash_and_recovery().build().ownership[1][1]
    renewal = second.renewals[0]
    assert second.lease_at(renewal.seq) == second.claim.lease_until
    assert second.lease_at(renewal.seq + 1) == renewal.lease_until == second.lease_until
    assert second.claim.lease_until != renewal.lease_until


def test_an_interval_is_open_up_to_the_event_that_ends_it() -> None:
    history = crash_and_recovery().build()
    first, second = history.ownership[1]
    assert first.end is not None
    assert history.owner_at(1, first.claim.seq) is None
    assert history.owner_at(1, first.claim.seq + 1) is first
    assert history.owner_at(1, first.end.seq) is first
    assert history.owner_at(1, first.end.seq + 1) is None
    assert history.owner_at(1, second.claim.seq + 1) is second
    assert history.owner_at(2, 5) is None


def test_a_steal_ends_one_interval_and_begins_the_next() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.claim("worker-b", 1)
    first, second = h.build().ownership[1]
    assert first.end is second.claim
    assert first.ended_by_another
    assert (second.generation, second.end, second.ended_by_owner, second.ended_by_another) == (2, None, False, False)


def test_a_write_of_a_dead_owner_with_its_own_token_is_the_owners() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.kill("worker-a", "after-effect-before-complete")
    h.complete("ghost", 1, token=1)
    assert h.build().ownership[1][0].ended_by_owner


def test_without_tokens_the_process_decides_whose_write_it_was() -> None:
    for actor, own in (("worker-a", True), ("worker-b", False)):
        h = HistoryBuilder()
        h.seed(1)
        h.claim("worker-a")
        h.begin(actor, "complete")
        h.sent(actor, job=1)
        h.ok(actor, rows=1)
        h.change(actor, 1, lambda row: None)
        h.commit(actor)
        assert h.build().ownership[1][0].ended_by_owner is own


def test_a_process_that_recovers_its_own_job_has_lost_it() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.clock(60_000)
    h.recover("worker-a")
    assert h.build().ownership[1][0].ended_by_another


def test_a_transition_to_claimed_that_raises_no_generation_is_no_claim() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.complete("worker-a")
    h.event("transition", actor="server", job=1, generation=1, from_state="done", to_state="claimed")
    history = h.build()
    assert [claim.actor for claim in history.claims] == ["worker-a"]
    assert len(history.ownership[1]) == 1


def test_the_interval_of_a_token_is_the_last_before_a_moment() -> None:
    history = crash_and_recovery().build()
    first, second = history.ownership[1]
    assert history.interval_of(1, 1, len(history.events)) is first
    assert history.interval_of(1, 2, len(history.events)) is second
    assert history.interval_of(1, 2, second.claim.seq) is None
    assert history.interval_of(1, None, len(history.events)) is None
    assert history.interval_of(2, 1, len(history.events)) is None


@pytest.mark.parametrize(
    ("finish", "how", "committed"),
    [
        (lambda h: h.commit("worker-a"), TxnEnd.COMMITTED, True),
        (lambda h: h.rollback("worker-a"), TxnEnd.ROLLED_BACK, False),
        (lambda h: h.kill("worker-a"), TxnEnd.GONE, False),
        (lambda h: (h.commit("worker-a", ack=False), h.kill("worker-a")), TxnEnd.UNCERTAIN, True),
        (lambda h: (h.commit("worker-a", ack=False, durable=False), h.kill("worker-a")), TxnEnd.UNCERTAIN, False),
        (lambda h: (h.sent("worker-a", "COMMIT"), h.failed("worker-a", "40001")), TxnEnd.ROLLED_BACK, False),
        (
            lambda h: (h.sent("worker-a", "2"), h.failed("worker-a", "23505"), h.commit("worker-a", durable=False)),
            TxnEnd.ROLLED_BACK,
            False,
        ),
        (lambda h: None, TxnEnd.OPEN, False),
    ],
)
def test_how_a_transaction_ended(finish: Callable[[HistoryBuilder], object], how: TxnEnd, committed: bool) -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a", commit=False)
    finish(h)
    txn = h.build().transactions[1]
    assert (txn.how, txn.committed, txn.acknowledged) == (how, committed, how is TxnEnd.COMMITTED)
    assert (txn.end is None) is (how is TxnEnd.OPEN)


def test_a_trace_shows_that_a_transaction_committed_even_if_its_end_was_not_recorded() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a", commit=False)
    h.close("worker-a", durable=True)
    txn = h.build().transactions[1]
    assert (txn.how, txn.committed) == (TxnEnd.OPEN, True)


def test_an_autocommit_statement_is_its_own_transaction() -> None:
    h = HistoryBuilder()
    own: dict[str, Any] = {"actor": "worker-a", "incarnation": 1, "session": 9, "txn": 77, "operation": "claim", "value": "1"}
    h.event("sent", **own)
    h.event("ok", **own)
    txn = h.build().transactions[77]
    assert (txn.how, txn.committed) == (TxnEnd.COMMITTED, True)


def test_calls_join_a_statement_with_its_candidates_waits_and_rows() -> None:
    h = HistoryBuilder()
    h.seed(2)
    h.begin("worker-a", "claim")
    h.send_claim("worker-a", 1)
    h.blocked("worker-a", "worker-b")
    h.claim("worker-b", 2, probe=False)
    h.freed("worker-a")
    h.claimed("worker-a", [1], 1)
    call = next(call for call in h.build().calls if call.sent.actor == "worker-a" and call.sent.value == "1")
    assert [probe.job for probe in call.probes] == [1, 2]
    assert (len(call.blocked), len(call.freed), [read.job for read in call.reads]) == (1, 1, [1])
    assert call.succeeded


def test_a_call_without_outcome_did_not_succeed() -> None:
    h = HistoryBuilder()
    h.begin("worker-a", "claim")
    h.sent("worker-a")
    call = h.build(completed=False).calls[-1]
    assert (call.outcome, call.succeeded) == (None, False)


def test_what_a_claim_delivers_are_the_rows_of_its_last_statement() -> None:
    h = HistoryBuilder()
    h.seed(3)
    h.begin("worker-a", "claim")
    h.sent("worker-a", "1")
    h.ok("worker-a", rows=2)
    h.read("worker-a", 1)
    h.read("worker-a", 2)
    h.sent("worker-a", "2")
    h.ok("worker-a", rows=1)
    h.read("worker-a", 2, token=1)
    history = h.build()
    assert [(read.job, read.token) for read in history.deliveries[1]] == [(2, 1)]
    assert [read.job for read in history.claim_reads[1]] == [1, 2, 2]


def test_a_lock_lasts_from_the_read_to_the_end_of_its_transaction() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a", commit=False)
    h.kill("worker-a", gone=False)
    h.backend_gone("worker-a")
    (lock,) = h.build().locks[1]
    assert (lock.start.kind, lock.txn) == ("read", 1)
    assert lock.end is not None
    assert lock.end.kind == "backend-gone"


def test_work_ends_with_the_process() -> None:
    h = HistoryBuilder()
    h.seed(2)
    h.claim("worker-a")
    h.work_start("worker-a")
    h.claim("worker-b")
    h.work_start("worker-b")
    h.work_end("worker-b")
    h.kill("worker-a", "during-work")
    first, second = h.build().work
    assert first.end is not None
    assert second.end is not None
    assert (first.job, first.generation, first.owner, first.end.kind) == (1, 1, "worker-a.1", "process-end")
    assert (second.job, second.generation, second.owner, second.end.kind) == (2, 1, "worker-b.1", "work-end")


def test_life_of_a_process() -> None:
    history = crash_and_recovery().build()
    start, end = history.lives["worker-a.1"]
    assert end is not None
    assert not history.alive("worker-a.1", start.seq - 1)
    assert history.alive("worker-a.1", start.seq)
    assert history.alive("worker-a.1", end.seq - 1)
    assert not history.alive("worker-a.1", end.seq)
    assert not history.alive("nobody", end.seq)
    assert not history.alive(None, end.seq)


def test_changes_before_and_after_a_moment() -> None:
    history = crash_and_recovery().build()
    seed, claim = history.changes[1][:2]
    assert history.change_before(1, seed.seq) is None
    assert history.change_before(1, claim.seq) is seed
    assert history.change_after(1, seed.seq) is claim
    assert history.change_after(1, len(history.events)) is None
    assert history.at(claim.seq) is claim


def test_there_is_no_event_0() -> None:
    with pytest.raises(IndexError, match="no event 0"):
        crash_and_recovery().build().at(0)
