"""claim-durable: what COMMIT acknowledged is in the committed state until a transition ends it."""

from dataclasses import replace
from typing import Any

import pytest

from simrunner.checkers.claim_durable import check
from simrunner.history.builder import HistoryBuilder
from simrunner.model.design import Ownership
from simrunner.model.event import SERVER
from simrunner.model.job import JobRow, JobState


def claimed() -> HistoryBuilder:
    h = HistoryBuilder()
    h.seed(2)
    h.claim("worker-a")
    return h


def test_an_acknowledged_claim_without_a_transition_is_found() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a", commit=False)
    h.commit("worker-a", durable=False)
    ack = h.events[-1]
    read = next(event for event in h.events if event.kind == "read")
    judgement = check(h.build())
    (finding,) = judgement.findings
    assert judgement.opportunities == 1
    assert (finding.seq, finding.job, finding.witness) == (ack.seq, 1, (read.seq, ack.seq))
    assert "token {token:1} was acknowledged, but its transaction committed no change of the job" in finding.explanation


def test_an_acknowledged_claim_with_its_transition_passes() -> None:
    judgement = check(claimed().build())
    assert (judgement.opportunities, judgement.findings) == (1, ())


def test_a_claim_that_was_not_acknowledged_creates_no_obligation() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a", commit=False)
    h.commit("worker-a", ack=False, durable=False)
    h.kill("worker-a")
    judgement = check(h.build())
    assert (judgement.opportunities, judgement.findings) == (0, ())


@pytest.mark.parametrize(("stored", "found"), [(7, 1), (1, 0)])
def test_a_row_with_another_token_than_delivered_is_found(stored: int, found: int) -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.begin("worker-a", "claim")
    h.send_claim("worker-a", 1)
    h.ok("worker-a", rows=1)
    h.read("worker-a", 1, token=1)
    h.change("worker-a", 1, lambda row: replace(row, state="claimed", generation=1, token=stored))
    h.commit("worker-a")
    judgement = check(h.build(final_jobs=None))
    assert (judgement.opportunities, len(judgement.findings)) == (1, found)
    if found:
        assert "the committed row carries token {token:7}" in judgement.findings[0].explanation


def test_a_batch_is_one_opportunity_for_each_job() -> None:
    h = HistoryBuilder(batch=2)
    h.seed(2)
    h.claim("worker-a")
    judgement = check(h.build())
    assert (judgement.opportunities, judgement.findings) == (2, ())


def test_a_claim_that_a_server_restart_undid_is_found() -> None:
    h = claimed()
    claim = h.events[-1]
    ended = h.events[-1]._asdict() | {"actor": SERVER, "from_state": "claimed", "to_state": "ready", "operation": None}
    h.event("server-restart")
    h.event("transition", **{name: value for name, value in ended.items() if name not in ("seq", "kind", "txn")})
    (finding,) = check(h.build(final_jobs=None)).findings
    assert finding.witness == (claim.seq - 1, claim.seq, h.events[-3].seq)
    assert "after the restart of the server it was gone" in finding.explanation


def test_a_claim_that_a_recovery_ended_is_explained() -> None:
    h = claimed()
    h.clock(60_000)
    h.recover()
    assert check(h.build()).findings == ()


def final(h: HistoryBuilder, fields: dict[str, Any]) -> tuple[tuple[int, JobRow], ...]:
    return ((1, h.rows[1].canonical(h.token_names)._replace(**fields)),)


@pytest.mark.parametrize(
    ("fields", "told"),
    [({"state": JobState.READY, "token": None}, "is ready with no token"), ({"token": "x/1"}, "is claimed with token x/1")],
)
def test_another_final_state_without_a_transition_is_found(fields: dict[str, Any], told: str) -> None:
    h = claimed()
    claim = h.events[-1]
    (finding,) = check(h.build(final_jobs=final(h, fields))).findings
    assert (finding.seq, finding.job) == (claim.seq, 1)
    assert told in finding.explanation


def test_a_row_that_vanished_without_a_transition_is_found() -> None:
    (finding,) = check(claimed().build(final_jobs=())).findings
    assert "has no row" in finding.explanation


def test_an_interrupted_run_has_no_final_state_to_judge() -> None:
    h = claimed()
    assert check(h.build(completed=False)).findings == ()


def test_where_the_lock_is_the_claim_nothing_is_to_be_durable() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a", commit=False)
    h.commit("worker-a", durable=False)
    judgement = check(h.build(ownership=Ownership.LOCK))
    assert (judgement.opportunities, judgement.findings) == (0, ())
