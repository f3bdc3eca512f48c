"""What `doctor` says of a design without running it: for each review the form that triggers it and a near miss."""

from __future__ import annotations

from pathlib import Path

import pytest

from simrunner.config import list_designs, load_design
from simrunner.model.remark import Level, Remark
from simrunner.review.registry import review
from tests.runtime.runs import ROOT, design_folder

CLAIM = (ROOT / "sql/reference/claim.sql").read_text()
COMPLETE = (ROOT / "sql/reference/complete.sql").read_text()
SCHEMA = (ROOT / "sql/reference/schema.sql").read_text()
JOBS = (ROOT / "sql/reference/jobs.sql").read_text()
ELIGIBLE = (ROOT / "sql/reference/eligible.sql").read_text()
CANDIDATE = "SELECT id FROM queue_jobs WHERE state = 'ready' ORDER BY priority DESC, available_at, created_at, id LIMIT :batch"
SET = "UPDATE queue_jobs SET state = 'claimed', claimed_by = :'worker_id', claim_token = :'token', lease_until = now()"
RETURNING = "RETURNING id, claim_token, attempts, lease_until"
RETURNING_C = RETURNING.replace(" id", " c.id")
LOCK = "FOR UPDATE SKIP LOCKED"

Files = dict[str, str]


def by_in(query: str) -> Files:
    return {"claim": f"{SET} WHERE id IN ({query})\n{RETURNING}"}


def changed(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


def remarks(tmp_path: Path, files: Files, toml: str = "", extends: str = "reference") -> list[Remark]:
    return review(load_design(str(design_folder(tmp_path, files, toml, extends))))


def names(found: list[Remark]) -> list[str]:
    return [remark.name for remark in found]


EXPECTED = {
    "mutants/claim-outside-order": ("order-differs", "claim.sql:7"),
    "mutants/claim-without-lock": ("claim-reads-unlocked", "claim.sql:2"),
    "mutants/effect-without-key": ("effect-without-key", "effect.sql:2"),
    "mutants/naive-subquery": ("claim-reads-unlocked", "claim.sql:10"),
    "mutants/no-recovery": ("no-recovery", "design.toml"),
    "mutants/recovery-deletes": ("recovery-deletes", "recover.sql:2"),
    "mutants/repeatable-read": ("claims-may-fail", "design.toml"),
    "mutants/report-skip-locked": ("report-takes-locks", "report.sql:4"),
    "mutants/select-then-update": ("claim-reads-unlocked", "claim.sql:2"),
    "mutants/serializable": ("claims-may-fail", "design.toml"),
    "mutants/unfenced-completion": ("unfenced-write", "complete.sql:2"),
    "mutants/unguarded-rescue": ("unfenced-recovery", "recover-write.sql:2"),
    "mutants/work-in-transaction": ("work-in-claim-transaction", "design.toml"),
    "variants/partial-order": ("order-without-tie-breaker", "claim.sql:8"),
    "variants/partial-order-scan": ("order-without-tie-breaker", "variants/partial-order/claim.sql:8"),
}
"""Of every shipped design that is not clean: the only remark, and where."""
FULL_ORDER_IS_A_PROMISE = "variants/partial-order"


CORRECT = [entry.name for entry in list_designs() if entry.name.startswith(("reference", "variants/"))]


@pytest.mark.parametrize("name", [name for name in CORRECT if name not in EXPECTED])
def test_a_correct_design_gets_no_remark(name: str) -> None:
    assert review(load_design(name)) == []


@pytest.mark.parametrize("name", EXPECTED)
def test_a_shipped_design_gets_the_remark_that_it_deserves_and_no_other(name: str) -> None:
    found = review(load_design(name))
    kind, place = EXPECTED[name]
    assert names(found) == [kind]
    assert f"/{found[0].place}".endswith(f"/{place}")
    hinted = name.startswith(FULL_ORDER_IS_A_PROMISE)
    assert found[0].level is (Level.HINT if hinted else Level.WARNING)


CASES: dict[str, tuple[str, Files, Files]] = {
    "a locking sub-query with a limit behind IN": (
        "claim-may-take-too-many",
        by_in(f"{CANDIDATE} {LOCK}"),
        {"claim": f"WITH c AS ({CANDIDATE} {LOCK}) {SET} WHERE id IN (SELECT id FROM c)\n{RETURNING}"},
    ),
    "the same behind = ANY": (
        "claim-may-take-too-many",
        {"claim": f"{SET} WHERE id = ANY ({CANDIDATE} {LOCK})\n{RETURNING}"},
        {"claim": f"{SET} WHERE id = ANY (ARRAY({CANDIDATE} {LOCK}))\n{RETURNING}"},
    ),
    "a locking sub-query in FROM": (
        "claim-may-take-too-many",
        {"claim": f"{SET} FROM ({CANDIDATE} {LOCK}) c WHERE queue_jobs.id = c.id\n{RETURNING_C}"},
        {"claim": f"WITH c AS ({CANDIDATE} {LOCK}) {SET} FROM c WHERE queue_jobs.id = c.id\n{RETURNING_C}"},
    ),
    "a locking sub-query in FROM of a recovery": (
        "claim-may-take-too-many",
        {
            "recover-batch": f"UPDATE queue_jobs q SET state = 'ready' FROM ({CANDIDATE} {LOCK}) c WHERE q.id = c.id"
            " RETURNING q.id"
        },
        {
            "recover-batch": f"WITH c AS ({CANDIDATE} {LOCK}) UPDATE queue_jobs q SET state = 'ready' FROM c WHERE q.id = c.id"
            " RETURNING q.id"
        },
    ),
    "a locking sub-query in USING": (
        "claim-may-take-too-many",
        {"claim": f"DELETE FROM queue_jobs q USING ({CANDIDATE} {LOCK}) c WHERE q.id = c.id RETURNING q.*"},
        {"claim": f"DELETE FROM queue_jobs q WHERE q.id = ({CANDIDATE} {LOCK}) RETURNING q.*"},
    ),
    "a sub-query without a row lock": (
        "claim-reads-unlocked",
        {"claim": f"{SET} WHERE id = ({CANDIDATE})\n{RETURNING}"},
        {"claim": f"{SET} WHERE id = ({CANDIDATE} {LOCK})\n{RETURNING}"},
    ),
    "the smallest id without a row lock": (
        "claim-reads-unlocked",
        {"claim": f"{SET} WHERE id = (SELECT min(id) FROM queue_jobs WHERE state = 'ready')\n{RETURNING}"},
        {"claim": f"WITH c AS ({CANDIDATE} {LOCK}) {SET} FROM c WHERE queue_jobs.id = c.id\n{RETURNING_C}"},
    ),
    "a number of others that is compared with a column, not with a number": (
        "claim-reads-unlocked",
        {"claim": f"{SET} WHERE id = (SELECT min(id) FROM queue_jobs WHERE state = 'ready')\n{RETURNING}"},
        {
            "claim": f"WITH c AS ({CANDIDATE} {LOCK}) {SET} FROM c WHERE queue_jobs.id = c.id"
            f" AND (SELECT count(*) FROM queue_jobs WHERE state = 'claimed') = 0\n{RETURNING_C}"
        },
    ),
    "an outer condition that is no guard, because the claim does not change it": (
        "claim-reads-unlocked",
        {"claim": f"{SET} WHERE id = ({CANDIDATE}) AND available_at <= now()\n{RETURNING}"},
        {"claim": f"{SET} WHERE id = ({CANDIDATE} {LOCK}) AND available_at <= now()\n{RETURNING}"},
    ),
    "a guarded write after an unlocked read": (
        "claim-may-come-back-empty",
        {"claim": f"{SET} WHERE id = ({CANDIDATE}) AND state = 'ready'\n{RETURNING}"},
        {"claim": f"{SET} WHERE id = ({CANDIDATE} {LOCK}) AND state = 'ready'\n{RETURNING}"},
    ),
    "a lock that waits": (
        "claim-waits",
        {"claim": changed(CLAIM, ("FOR UPDATE SKIP LOCKED", "FOR UPDATE"))},
        {"claim": changed(CLAIM, ("FOR UPDATE SKIP LOCKED", "FOR NO KEY UPDATE SKIP LOCKED"))},
    ),
    "a lock that fails": (
        "claim-waits",
        {"claim": changed(CLAIM, ("FOR UPDATE SKIP LOCKED", "FOR UPDATE NOWAIT"))},
        {"claim": changed(CLAIM, ("FOR UPDATE SKIP LOCKED", "FOR UPDATE OF queue_jobs SKIP LOCKED"))},
    ),
    "an order without a tie-breaker": (
        "order-without-tie-breaker",
        {op: changed(text, (", created_at, id\n", ", created_at\n")) for op, text in (("claim", CLAIM),)}
        | {"eligible": changed(ELIGIBLE, ("available_at, created_at, id;", "available_at, created_at;"))},
        {
            "claim": changed(CLAIM, (", created_at, id\n", ", created_at, payload\n")),
            "eligible": changed(ELIGIBLE, ("available_at, created_at, id;", "available_at, created_at, payload;")),
            "schema-changes": "CREATE UNIQUE INDEX ON queue_jobs (payload);",
        },
    ),
    "a unique index that is partial is none": (
        "order-without-tie-breaker",
        {
            "claim": changed(CLAIM, (", created_at, id\n", ", created_at, payload\n")),
            "eligible": changed(ELIGIBLE, ("available_at, created_at, id;", "available_at, created_at, payload;")),
            "schema": SCHEMA + "CREATE UNIQUE INDEX ON queue_jobs (payload) WHERE state = 'claimed';",
        },
        {
            "claim": changed(CLAIM, (", created_at, id\n", ", created_at, payload\n")),
            "eligible": changed(ELIGIBLE, ("available_at, created_at, id;", "available_at, created_at, payload;")),
            "schema": changed(SCHEMA, ("last_error   text\n", "last_error   text,\n    UNIQUE (payload, created_at)\n")),
        },
    ),
    "a key of effects that is dropped": (
        "effect-without-key",
        {"schema-changes": "ALTER TABLE synthetic_effects DROP CONSTRAINT synthetic_effects_pkey;"},
        {"schema-changes": "ALTER TABLE synthetic_effects DROP CONSTRAINT synthetic_effects_pkey, ADD UNIQUE (job_id);"},
    ),
    "a limit without an order": (
        "order-without-tie-breaker",
        {"claim": changed(CLAIM, ("    ORDER BY priority DESC, available_at, created_at, id\n", ""))},
        {
            "claim": changed(
                CLAIM, ("priority DESC, available_at, created_at, id", "priority DESC,\n available_at, created_at, id")
            )
        },
    ),
    "another order than eligible.sql": (
        "order-differs",
        {"claim": changed(CLAIM, ("priority DESC, available_at", "priority, available_at"))},
        {"claim": changed(CLAIM, ("FROM queue_jobs\n", "FROM queue_jobs q\n"), ("BY priority DESC", "BY q.priority DESC"))},
    ),
    "a completion that checks the state alone": (
        "unfenced-write",
        {"complete": changed(COMPLETE, ("\n  AND claimed_by = :'worker_id'\n  AND claim_token = :'token'", ""))},
        {"complete": changed(COMPLETE, ("\n  AND claimed_by = :'worker_id'", ""))},
    ),
    "a token that is only written": (
        "unfenced-write",
        {
            "complete": "UPDATE queue_jobs SET state = 'done', last_error = :'token' WHERE id = :'job_id' RETURNING id",
        },
        {
            "complete": "SELECT id AS job_id FROM queue_jobs WHERE id = :'job_id' AND claim_token = :'token' FOR UPDATE;\n"
            "UPDATE queue_jobs SET state = 'done' WHERE id = :'job_id' RETURNING id",
        },
    ),
    "a token that was read without a lock": (
        "unfenced-write",
        {
            "complete": "SELECT id AS job_id FROM queue_jobs WHERE id = :'job_id' AND claim_token = :'token';\n"
            "UPDATE queue_jobs SET state = 'done' WHERE id = :'job_id' RETURNING id",
        },
        {
            "complete": "UPDATE queue_jobs SET state = 'done' FROM (SELECT 1) AS one WHERE id = :'job_id' AND attempts = :attempt"
            " RETURNING id"
        },
    ),
    "a function that is given the job alone": (
        "unfenced-write",
        {"complete": "SELECT complete_job(:'job_id') AS id"},
        {"complete": "SELECT complete_job(:'job_id', :'token') AS id"},
    ),
    "a heartbeat by id": (
        "unfenced-write",
        {"heartbeat": "UPDATE queue_jobs SET lease_until = now() WHERE id = :'job_id' RETURNING id, lease_until"},
        {
            "heartbeat": "UPDATE queue_jobs SET lease_until = now() WHERE id = :'job_id' AND claimed_by = :'worker_id'"
            " RETURNING id, lease_until"
        },
    ),
    "a report that locks": (
        "report-takes-locks",
        {"report": "SELECT state, count(*) AS jobs FROM (SELECT state FROM queue_jobs FOR SHARE) s GROUP BY state"},
        {"report": "SELECT state, count(*) AS jobs FROM (SELECT state FROM queue_jobs) s GROUP BY state"},
    ),
    "jobs.sql with now()": (
        "observer-reads-clock",
        {"jobs": changed(JOBS, ("       state,", "       CASE WHEN lease_until < now() THEN 'ready' ELSE state END AS state,"))},
        {"jobs": "-- now() is not called here\n" + changed(JOBS, ("       created_at,", "       created_at, 'now()' AS note,"))},
    ),
    "eligible.sql with a keyword": (
        "observer-reads-clock",
        {"eligible": changed(ELIGIBLE, (":'as_of'", "CURRENT_TIMESTAMP"))},
        {"eligible": changed(ELIGIBLE, ("created_at, id\nFROM", "created_at, id, 1 AS current_date\nFROM"))},
    ),
    "a literal that is the present": (
        "clock-escapes",
        {"claim": changed(CLAIM, ("available_at <= now()", "available_at <= 'now'::timestamptz"))},
        {"claim": changed(CLAIM, ("state = 'ready'", "state = 'ready' AND payload <> 'now and then'"))},
    ),
    "an EXECUTE string": (
        "clock-escapes",
        {"schema": SCHEMA + "DO $$ BEGIN EXECUTE 'CREATE TABLE t (a timestamptz DEFAULT CURRENT_TIMESTAMP)'; END $$;"},
        {"schema": SCHEMA + "DO $$ BEGIN EXECUTE 'CREATE TABLE t (a timestamptz DEFAULT now())'; END $$;"},
    ),
    "an EXECUTE string with a literal in it": (
        "clock-escapes",
        {"schema": SCHEMA + "DO $$ BEGIN EXECUTE 'CREATE TABLE t (a timestamptz DEFAULT ''now'')'; END $$;"},
        {"schema": SCHEMA + "DO $$ BEGIN EXECUTE 'CREATE TABLE t (a text DEFAULT ''known'')'; END $$;"},
    ),
    "a dollar-quoted literal": (
        "clock-escapes",
        {"claim": changed(CLAIM, ("available_at <= now()", "available_at <= $$now$$::timestamptz"))},
        {"claim": changed(CLAIM, ("state = 'ready'", "state = $$ready$$"))},
    ),
    "a quoted body": (
        "clock-escapes",
        {"schema": SCHEMA + "CREATE FUNCTION f() RETURNS date LANGUAGE sql AS 'SELECT CURRENT_DATE';"},
        {"schema": SCHEMA + "CREATE FUNCTION f() RETURNS date LANGUAGE sql AS $$ SELECT CURRENT_DATE $$;"},
    ),
    "a qualified call": (
        "clock-needs-superuser",
        {"claim": changed(CLAIM, ("available_at <= now()", "available_at <= pg_catalog.now()"))},
        {"claim": changed(CLAIM, ("state = 'ready'", "state = 'ready' AND payload <> 'pg_catalog.now()'"))},
    ),
    "a qualified call in a body": (
        "clock-needs-superuser",
        {"schema": SCHEMA + "CREATE FUNCTION f() RETURNS timestamptz LANGUAGE sql AS $$ SELECT pg_catalog.now() $$;"},
        {"schema": SCHEMA + "CREATE FUNCTION f() RETURNS timestamptz LANGUAGE sql AS $$ SELECT other.now() $$;"},
    ),
    "a search_path of its own": (
        "clock-needs-superuser",
        {"schema": SCHEMA + "CREATE FUNCTION f() RETURNS int LANGUAGE sql SET search_path = x AS $$ SELECT 1 $$;"},
        {"schema": SCHEMA + "CREATE FUNCTION f() RETURNS int LANGUAGE sql SET work_mem = '1MB' AS $$ SELECT 1 $$;"},
    ),
    "a role": (
        "reaches-outside",
        {"schema": SCHEMA + "CREATE ROLE app LOGIN;"},
        {"schema": SCHEMA + "CREATE TABLE role (id int); ALTER TABLE role ADD COLUMN role int; DROP TABLE role;"},
    ),
    "a setting of the server": (
        "reaches-outside",
        {"schema": "ALTER SYSTEM SET work_mem = '1MB';\n" + SCHEMA},
        {
            "schema": SCHEMA
            + "CREATE USER MAPPING FOR CURRENT_USER SERVER elsewhere; COMMENT ON TABLE queue_jobs IS 'CREATE ROLE';"
        },
    ),
    "a claim in a function": (
        "not-reviewed",
        {"claim": "SELECT id, claim_token, attempts, lease_until FROM claim_job(:'worker_id', :'token')"},
        {"claim": CLAIM},
    ),
    "a statement that cannot be read": (
        "not-reviewed",
        {"complete": "CALL complete_job(:'job_id', :'token')"},
        {"complete": COMPLETE},
    ),
}


@pytest.mark.parametrize("what", CASES)
def test_a_form_is_named_and_its_near_miss_is_not(tmp_path: Path, what: str) -> None:
    name, bad, good = CASES[what]
    found = remarks(tmp_path, bad)
    assert set(names(found)) == {name}
    assert all(remark.message and remark.remedy and ".sql:" in (remark.place or "") for remark in found)
    for file in bad:
        (tmp_path / "design" / f"{file}.sql").unlink()
    assert names(remarks(tmp_path, good)) == []


def test_an_advisory_lock_or_a_table_lock_before_the_read_is_taken_for_one(tmp_path: Path) -> None:
    bad = f"{CANDIDATE};\n{SET} WHERE id = :'job_id'\n{RETURNING}".replace("SELECT id ", "SELECT id AS job_id ")
    assert names(remarks(tmp_path, {"claim": bad})) == ["claim-reads-unlocked"]
    for first in ("LOCK TABLE queue_jobs IN EXCLUSIVE MODE;", "SELECT pg_advisory_xact_lock(7);"):
        assert "claim-reads-unlocked" not in names(remarks(tmp_path, {"claim": f"{first}\n{bad}"}))


def test_a_lock_in_an_outer_select_reaches_into_a_sub_query_and_not_into_a_with_query(tmp_path: Path) -> None:
    inside = f"{SET} WHERE id = (SELECT id FROM ({CANDIDATE}) AS c {LOCK})\n{RETURNING}"
    assert names(remarks(tmp_path, {"claim": inside})) == []
    outside = f"WITH c AS ({CANDIDATE}) {SET} WHERE id = (SELECT id FROM c {LOCK})\n{RETURNING}"
    assert names(remarks(tmp_path, {"claim": outside})) == ["claim-reads-unlocked"]


def test_a_claim_that_takes_lapsed_leases_itself_needs_no_recovery(tmp_path: Path) -> None:
    toml = 'removes = ["recover"]\n'
    assert names(remarks(tmp_path, {}, toml)) == ["no-recovery"]
    steals = changed(CLAIM, ("WHERE state = 'ready'", "WHERE (state = 'ready' OR lease_until < now())"))
    assert names(remarks(tmp_path, {"claim": steals}, toml)) == []


def test_a_declared_order_must_tell_jobs_apart(tmp_path: Path) -> None:
    assert names(remarks(tmp_path, {}, '[promises]\norder = ["priority desc", "created_at"]\n')) == ["declared-order-not-total"]
    assert names(remarks(tmp_path, {}, '[promises]\norder = ["priority desc", "job"]\n')) == []


def test_what_weighs_most_comes_first(tmp_path: Path) -> None:
    files = {**by_in(f"{CANDIDATE} {LOCK}"), "heartbeat": "CALL beat(:'job_id')"}
    found = remarks(tmp_path, {**files, "complete": "SELECT complete_job(:'job_id') AS id"})
    assert [(remark.level.value, remark.name) for remark in found] == [
        ("warning", "claim-may-take-too-many"),
        ("warning", "unfenced-write"),
        ("hint", "not-reviewed"),
    ]
