"""Attempts to claim: what belongs to one, what it saw, took, and when it came back empty."""

from simrunner.history.attempts import untouched
from simrunner.history.builder import HistoryBuilder
from simrunner.model.event import OBSERVER


def test_an_attempt_knows_its_candidates_and_what_it_took() -> None:
    h = HistoryBuilder()
    h.seed(3)
    h.claim("worker-z", commit=False)
    h.claim("worker-a")
    held, taken = h.build().attempts
    assert ([event.job for event in held.candidates], list(held.taken), held.committed) == ([1, 2], [1], False)
    assert ([event.job for event in taken.candidates], [event.job for event in taken.free]) == ([1, 2, 3], [2, 3])
    assert (list(taken.taken), taken.committed, taken.empty) == ([2], True, None)
    assert taken.taken[2].kind == "transition"


def test_the_statements_of_one_claim_belong_together() -> None:
    h = HistoryBuilder()
    h.seed(2)
    h.begin("worker-a", "claim")
    h.send_claim("worker-a", 1)
    h.ok("worker-a", rows=0)
    h.sent("worker-a", "2", token=1)
    h.claimed("worker-a", [1], 1)
    h.commit("worker-a")
    h.claim("worker-a")
    first, second = h.build().attempts
    assert ([call.sent.value for call in first.calls], [call.sent.value for call in second.calls]) == (["1", "2"], ["1"])
    assert first.seen_seq < first.decided_seq < second.seen_seq


def test_an_empty_claim_ends_with_its_last_statement() -> None:
    h = HistoryBuilder()
    h.claim_nothing("worker-a")
    [attempt] = h.build().attempts
    assert attempt.empty is not None
    assert (attempt.empty.kind, attempt.empty.value, attempt.empty.rows) == ("ok", "1", 0)


def test_the_candidates_of_a_round_belong_to_all_its_claims() -> None:
    h = HistoryBuilder()
    h.seed(2)
    h.phase("safety")
    for number, rank in ((1, 1), (2, 2)):
        h.round(number)
        h.event("probe", actor=OBSERVER, operation="claim", job=number, rank=rank)
        h.claim("worker-a", probe=False)
        h.claim_nothing("worker-b", probe=False)
    first, second = h.build(mode="rounds").rounds
    assert ([event.job for event in first.candidates], len(first.attempts), list(first.taken)) == ([1], 2, [1])
    assert ([event.job for event in second.candidates], len(second.attempts), list(second.taken)) == ([2], 2, [2])


def test_where_each_claim_has_its_own_candidates_those_of_the_round_are_not_its_own() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.phase("safety")
    h.round(1)
    h.event("probe", actor=OBSERVER, operation="claim", job=1, rank=1)
    h.claim("worker-a")
    h.claim_nothing("worker-b")
    _, empty = h.build().attempts
    assert empty.candidates == ()


def test_only_other_actors_touch_a_job() -> None:
    h = HistoryBuilder()
    h.seed(1)
    start_seq = len(h.events)
    h.claim("worker-a")
    events = h.build().by_job[1]
    end_seq = len(h.events)
    assert untouched(events, start_seq + 1, end_seq, "worker-a")
    assert not untouched(events, start_seq + 1, end_seq, "worker-b")
    assert untouched(events, start_seq + 1, start_seq + 2, "worker-b")
