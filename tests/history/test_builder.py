"""Hand-written histories look like the histories of correct runs."""

import pytest

from simrunner.history.builder import HistoryBuilder
from simrunner.history.by_hand import START_US
from simrunner.model.event import KINDS
from simrunner.model.job import Held


def crash_and_recovery() -> HistoryBuilder:
    h = HistoryBuilder()
    h.seed(2)
    h.claim("worker-a")
    h.work_start("worker-a")
    h.kill("worker-a", "during-work")
    h.clock(60_000)
    h.recover()
    h.claim("worker-b", 1)
    h.complete("ghost", 1, token=1)
    h.heartbeat("worker-b")
    h.effect("worker-b")
    h.complete("worker-b")
    return h


def test_seq_is_gapless_and_kinds_are_known() -> None:
    events = crash_and_recovery().build().events
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert all(event.kind in KINDS for event in events)


def test_every_event_of_the_safety_phase_has_round_and_step() -> None:
    events = crash_and_recovery().build().events
    safety = [event for event in events if event.phase == "safety"]
    assert safety
    assert all(event.round == 1 and event.step is not None and event.virtual_time is not None for event in safety)
    assert [event.step for event in safety] == sorted(event.step or 0 for event in safety)


def test_a_claim_is_told_like_by_a_run() -> None:
    h = HistoryBuilder()
    h.seed(3)
    h.claim("worker-a")
    kinds = [(event.kind, event.value) for event in h.events if event.actor == "worker-a"]
    assert kinds == [
        ("process-start", "worker"),
        ("sent", "BEGIN"),
        ("ok", "BEGIN"),
        ("probe", None),
        ("probe", None),
        ("sent", "1"),
        ("ok", "1"),
        ("read", None),
        ("sent", "COMMIT"),
        ("ok", "COMMIT"),
        ("transition", None),
    ]
    claim = h.events[-1]
    assert (claim.from_state, claim.to_state, claim.generation, claim.attempt) == ("ready", "claimed", 1, 1)
    assert claim.held == Held.OWNER | Held.TOKEN | Held.CLAIMED_AT | Held.LEASE
    assert claim.lease_until == (claim.txn_time or 0) + 30_000_000
    assert (claim.owner, claim.order_key, claim.rank) == ("worker-a.1", None, None)


def test_an_ended_claim_keeps_the_old_owner_and_a_new_row() -> None:
    h = crash_and_recovery()
    recovered = next(event for event in h.events if event.operation == "recover" and event.kind == "transition")
    assert (recovered.owner, recovered.token, recovered.held, recovered.generation) == ("worker-a.1", 1, 0, 1)
    assert recovered.lease_until is not None
    assert recovered.lease_until < (recovered.txn_time or 0)
    assert recovered.available_at == recovered.txn_time
    assert recovered.rank == 2, "recovery puts the job behind what was ready"


def test_a_stale_write_is_refused_unless_it_is_accepted_by_mistake() -> None:
    h = crash_and_recovery()
    refused = next(event for event in h.events if event.actor == "ghost" and event.kind == "ok" and event.value == "1")
    assert (refused.rows, refused.token) == (0, 1)
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    h.complete("ghost", 1, token=7, accepted=True)
    assert h.events[-1].to_state == "done"


def test_locked_candidates_are_passed_and_named() -> None:
    h = HistoryBuilder()
    h.seed(3)
    h.claim("worker-a", commit=False)
    h.claim("worker-b")
    probes = [
        (event.job, event.rank, event.blocked_by) for event in h.events if event.kind == "probe" and event.actor == "worker-b"
    ]
    assert probes == [(1, 1, "worker-a"), (2, 2, None), (3, 3, None)]
    assert h.events[-1].job == 2


@pytest.mark.parametrize(("ack", "durable", "how"), [(True, True, 1), (False, True, 1), (False, False, 0), (True, False, 0)])
def test_what_commits_becomes_visible(ack: bool, durable: bool, how: int) -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a", commit=False)
    h.commit("worker-a", ack=ack, durable=durable)
    h.kill("worker-a")
    assert sum(1 for event in h.events if event.kind == "transition") == how
    assert ("unknown" in [event.kind for event in h.events]) is not ack


def test_a_killed_actor_comes_back_as_its_next_incarnation_with_new_tokens() -> None:
    h = HistoryBuilder()
    h.seed(2)
    h.claim("worker-a")
    h.kill("worker-a", "after-commit")
    h.claim("worker-a")
    assert h.token_names == {1: "worker-a.1/1", 2: "worker-a.2/1"}
    assert [event.session for event in h.events if event.kind == "read"] == [1, 2]


def test_columns_override_row_and_transition() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a", lease_until=None, rank=9)
    assert (h.events[-1].lease_until, h.events[-1].rank, h.rows[1].lease_until) == (None, 9, None)
    assert Held.LEASE not in Held(h.events[-1].held or 0)


def test_a_completed_run_ends_and_knows_its_final_rows() -> None:
    h = crash_and_recovery()
    history = h.build()
    assert (history.events[-1].kind, history.events[-1].value) == ("run", "end")
    assert history.context.final_jobs is not None
    assert [(job, row.state) for job, row in history.context.final_jobs] == [(1, "done"), (2, "ready")]
    assert history.context.audit is not None
    assert [row.to_state for row in history.context.audit] == ["claimed", "ready", "claimed", "done"]


def test_an_interrupted_run_has_no_end() -> None:
    history = crash_and_recovery().build(completed=False)
    assert history.events[-1].kind != "run"
    assert (history.context.final_jobs, history.context.audit) == (None, None)


def test_enqueue_deletion_and_clock() -> None:
    h = HistoryBuilder()
    h.clock(5)
    assert (h.events[-1].kind, h.events[-1].value, h.now) == ("clock", "5", START_US + 5_000)
    assert h.enqueue(priority=3) == 1
    h.begin("worker-a", "complete")
    h.sent("worker-a")
    h.ok("worker-a", rows=1)
    h.change("worker-a", 1, lambda row: None)
    h.commit("worker-a")
    assert [(event.from_state, event.to_state) for event in h.events if event.kind == "transition"] == [
        (None, "ready"),
        ("ready", None),
    ]
    assert h.rows == {}


def test_misuse_is_told() -> None:
    h = HistoryBuilder()
    with pytest.raises(ValueError, match="has no open transaction"):
        h.commit("worker-a")
    with pytest.raises(ValueError, match="claimed nothing"):
        h.complete("worker-a")
