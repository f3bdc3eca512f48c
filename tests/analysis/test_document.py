"""verdict.json and the rows of findings.parquet: keys, values, names filled in."""

import json
from typing import Any

from simrunner.analysis.document import findings_table, verdict_document
from simrunner.analysis.names import fill_names, job_name, token_name
from simrunner.analysis.witness import witness_rows
from simrunner.history.builder import HistoryBuilder
from simrunner.history.by_hand import reference_context
from simrunner.limits import LIMITS
from simrunner.model.verdict import Finding, InvariantVerdict, RunVerdict, Verdict

CONTEXT = reference_context(job_names={3: "17"}, token_names={5: "worker-a.1/2"})
FINDING = Finding("claim-order", 9, 3, (7, 9), "Job {job:3} was claimed with token {token:5} of key {key:2}.")

CONTRACT = [
    "schema",
    "verdict",
    "design",
    "workload",
    "seed",
    "mode",
    "postgres",
    "history_sha256",
    "events",
    "root_cause",
    "replay",
    "invariants",
]


def document() -> dict[str, Any]:
    row = InvariantVerdict("claim-order", Verdict.VIOLATED, True, True, 12, 1, FINDING)
    idle = InvariantVerdict("effect-once", Verdict.NOT_EXERCISED, True, False, 0, 0, None)
    run = RunVerdict(Verdict.VIOLATED, "claim-order", (row, idle), (("every worker took steps", True, "2 of 2"),), (FINDING,))
    return verdict_document(
        run,
        CONTEXT,
        design="reference",
        workload="basic",
        seed=7,
        postgres="18.4",
        history_sha256="ab" * 32,
        events=100,
        replay="simrunner replay results/latest",
    )


def test_the_contract_keys_come_first_and_the_document_is_json() -> None:
    told = json.loads(json.dumps(document()))
    assert list(told)[: len(CONTRACT)] == CONTRACT
    assert (told["schema"], told["verdict"], told["seed"], told["mode"]) == (1, "violated", 7, "stepped")
    assert told["root_cause"] == "claim-order"
    assert told["certificate"] == [{"requires": "every worker took steps", "reached": True, "figures": "2 of 2"}]


def test_an_invariant_tells_its_first_violation_with_names() -> None:
    violated, idle = document()["invariants"]
    assert {key: violated[key] for key in ("name", "verdict", "promised", "opportunities", "violations")} == {
        "name": "claim-order",
        "verdict": "violated",
        "promised": True,
        "opportunities": 12,
        "violations": 1,
    }
    assert violated["first_violation"] == {
        "seq": 9,
        "job": "17",
        "explanation": "Job 17 was claimed with token worker-a.1/2 of key #2.",
    }
    assert (idle["verdict"], idle["first_violation"]) == ("not exercised", None)


def test_findings_become_rows() -> None:
    assert findings_table([FINDING]) == [
        {"invariant": "claim-order", "seq": 9, "job": 3, "witness": [7, 9], "explanation": FINDING.explanation}
    ]


def test_names_that_are_not_known_stay_ordinals() -> None:
    assert fill_names("{job:4} {token:5} {other:1} {job:x}", CONTEXT) == "#4 worker-a.1/2 {other:1} {job:x}"
    assert (job_name(CONTEXT, None), job_name(CONTEXT, 3), token_name(CONTEXT, None), token_name(CONTEXT, 6)) == (
        None,
        "17",
        None,
        "#6",
    )


def test_the_witness_is_told_in_words() -> None:
    h = HistoryBuilder()
    h.seed(1)
    h.claim("worker-a")
    history = h.build()
    claim = history.claims[0]
    probe = history.of_kind("probe")[0]
    finding = Finding("claim-order", claim.seq, 1, (probe.seq, claim.seq), "")
    first, second = witness_rows(finding, history.events, history.context)
    assert (first.who, first.what, first.job, first.detail) == ("worker-a.1", "probe claim", "1", "rank 1")
    assert (second.seq, second.time, second.what) == (
        str(claim.seq),
        "2026-09-22 06:00:00.003",
        "transition claim ready -> claimed",
    )
    assert (second.token, second.detail[:24]) == ("worker-a.1/1", "generation 1, attempt 1,")


def test_a_long_witness_is_cut() -> None:
    h = HistoryBuilder()
    h.seed(60)
    history = h.build()
    finding = Finding("claim-order", 60, None, tuple(range(1, 61)), "")
    assert len(witness_rows(finding, history.events, history.context)) == LIMITS.witness_events_max
