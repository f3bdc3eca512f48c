"""Loading designs: inheritance, every mistake in a folder or its design.toml, identity, and places."""

from __future__ import annotations

from pathlib import Path

import pytest

from simrunner.config import escapes, list_designs, load_design, place_of
from simrunner.errors import DesignError
from simrunner.model.design import OrderColumn, Ownership

TOML = """\
title = "A queue"
origin = "test"
ownership = "lease"

[promises]
invariants = ["claim-order"]
order = ["priority desc", "id"]

[transitions]
new = ["ready"]
ready = ["claimed"]
claimed = ["done", "gone"]

[results.claim]
job = "id"

[[state]]
table = "jobs"
job_column = "id"
"""
FILES = {
    "design.toml": TOML,
    "schema.sql": "CREATE TABLE jobs (id int);",
    "seed.sql": "INSERT INTO jobs VALUES (1)",
    "eligible.sql": "SELECT id AS job FROM jobs",
    "claim.sql": "SELECT id FROM jobs\nLIMIT :batch;",
    "jobs.sql": "SELECT id AS job FROM jobs;",
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, **files: str | None) -> Path:
    """Write the design FILES with changes; keyword `design_toml` stands for design.toml; None leaves a file out."""
    folder.mkdir(parents=True, exist_ok=True)
    changes = {name.replace("_toml", ".toml").replace("_sql", ".sql").replace("_", "-"): text for name, text in files.items()}
    for name, text in {**FILES, **changes}.items():
        if text is not None:
            (folder / name).write_text(text, encoding="utf-8")
    return folder


def write_child(folder: Path, toml: str, **files: str) -> Path:
    absent: dict[str, str | None] = dict.fromkeys(name.replace(".", "_") for name in FILES)
    return write(folder, **{**absent, **files, "design_toml": toml})


def test_a_design_is_read(here: Path) -> None:
    design = load_design(str(write(here / "sql" / "mine")))
    assert (design.name, design.title, design.ownership, design.isolation) == (
        "mine",
        "A queue",
        Ownership.LEASE,
        "read committed",
    )
    assert list(design.operations) == ["schema", "seed", "claim", "jobs", "eligible"]
    assert design.operations["claim"].results == {"job": "id"}
    assert design.promises.order == (OrderColumn("priority", True), OrderColumn("id", False))
    assert design.transitions == {(None, "ready"), ("ready", "claimed"), ("claimed", "done"), ("claimed", None)}
    assert (design.effects, design.expects_root_cause, design.uses_statement_clock) == (None, None, False)


@pytest.mark.parametrize("name", ["mine", "sql/mine", "./sql/mine/", "mine/"])
def test_a_name_and_a_path_are_the_same_design(here: Path, name: str) -> None:
    write(here / "sql" / "mine")
    assert load_design(name).name == "mine"


def test_a_folder_outside_is_named_after_itself(here: Path) -> None:
    assert load_design(str(write(here / "elsewhere" / "queue"))).name == "queue"


def test_the_working_directory_hides_a_shipped_design(here: Path) -> None:
    assert load_design("reference").title != "A queue"
    write(here / "sql" / "reference")
    assert load_design("reference").title == "A queue"
    assert {entry.name: entry.title for entry in list_designs()}["reference"] == "A queue"


def test_listing_survives_a_broken_design(here: Path) -> None:
    write(here / "sql" / "broken", design_toml="title = ")
    assert "cannot be read" in {entry.name: entry.title for entry in list_designs()}["broken"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [("refrence", "'reference'"), ("no-recovry", "'mutants/no-recovery'"), ("mutant/no-recovery", "'mutants/no-recovery'")],
)
def test_an_unknown_name_is_answered_with_near_misses(name: str, meant: str) -> None:
    with pytest.raises(DesignError, match=f"no design '{name}' .* did you mean {meant}.* Known: .*reference"):
        load_design(name)


@pytest.mark.parametrize("name", ["", "/", "nothing-like-it", "../.."])
def test_a_hopeless_name_is_answered_with_the_list(name: str) -> None:
    with pytest.raises(DesignError, match=r"Known: .*mutants/no-recovery"):
        load_design(name)


def test_a_folder_without_design_toml_is_told(here: Path) -> None:
    (here / "empty").mkdir()
    with pytest.raises(DesignError, match=r"empty/design.toml does not exist"):
        load_design("empty")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "A queue"', "title = ", r"design.toml:1: not valid TOML"),
        ('title = "A queue"', "", r"design.toml: the key title is missing"),
        ('title = "A queue"', "title = 3", r"design.toml:1: title: expected str, got int"),
        ('title = "A queue"', 'titel = "x"', r"design.toml:1: unknown key titel; did you mean 'title'"),
        ('"lease"', '"leese"', r"design.toml:3: ownership: invalid enum value 'leese'; expected one of: lease, lock, row"),
        ('ownership = "lease"', 'ownership = "lease"\nisolation = "chaos"', r"design.toml:4: isolation: .* read committed"),
        ("[promises]", "[promises]\nbatch = 0", r"design.toml:6: promises.batch: expected int >= 1"),
        ("[promises]", "[promises]\nbatch = true", r"design.toml:6: promises.batch: expected int, got bool"),
        ("[promises]", "[promises]\nlease = 3", r"design.toml:6: unknown key promises.lease; did you mean 'lease_ms'"),
        (
            "[promises]",
            '[promises]\nattempt_counted_at = "end"',
            r"design.toml:6: promises.attempt_counted_at: .* claim, failure",
        ),
        ('["claim-order"]', '["claim-order", 1]', r"design.toml:6: promises.invariants\[1\]: expected str, got int"),
        ('"priority desc"', '"priority down"', r"design.toml:7: promises.order: 'priority down' is not of the form"),
        ('["ready"]', '["redy"]', r"design.toml:10: transitions.new: 'redy' is no state here; did you mean 'ready'"),
        ("ready = [", "redy = [", r"design.toml:11: transitions.redy: 'redy' is no state here; did you mean 'ready'"),
        ('["claimed"]', '["new"]', r"design.toml:11: transitions.ready: 'new' is no state here"),
        ('["claimed"]', '"claimed"', r"design.toml:9: transitions: expected array, got str"),
        ("[results.claim]", "[results.clam]", r"design.toml:14: results.clam: .* did you mean 'claim'"),
        ('job = "id"', 'jobb = "id"', r"design.toml:15: results.claim.jobb: claim has no such result; did you mean 'job'"),
        ('job = "id"', 'token = "t"', r"design.toml:14: results.claim must name the column of the job's id"),
        ('job_column = "id"', "", r"design.toml:17: the key state\[0\].job_column is missing"),
        ("[[state]]", "[[states]]", r"design.toml:17: unknown key states; did you mean 'state'"),
        ('table = "jobs"', 'table = ""', r"design.toml:18: state\[0\].table: expected str of length >= 1"),
        (
            'ownership = "lease"',
            'ownership = "lease"\nremoves = ["fail"]',
            r"design.toml:4: removes: 'fail' is no inherited operation",
        ),
        (
            'ownership = "lease"',
            'ownership = "row"\npolicies.late_success_counts = false',
            r"design.toml:4: policies.late_success_counts: only a lease can have lapsed; false needs ownership = 'lease'",
        ),
        ('["claim-order"]', '["concurrency-limit"]', r"design.toml:6: concurrency-limit needs promises.concurrency_limit"),
        ("[promises]", "[promises]\nconcurrency_limit = 2", r"design.toml:6: promises.concurrency_limit: nothing judges it; add"),
        (
            'ownership = "lease"',
            'ownership = "lease"\nworker.lost_commit = "hope"',
            r"design.toml:4: worker.lost_commit: invalid enum value 'hope'; expected one of: send-again, take-for-done",
        ),
        (
            'ownership = "lease"',
            'ownership = "lease"\nworker.failed_heartbeat = "release"',
            r"design.toml:4: worker.failed_heartbeat: 'release' needs heartbeat.sql, which the design does not have",
        ),
        ('ownership = "lease"', 'ownership = "lease"\nextends = "nobody"', r"design.toml:4: extends: no design 'nobody'"),
        ('ownership = "lease"', 'ownership = "lease"\nextends = 3', r"design.toml:4: extends: expected the name"),
    ],
)
def test_a_mistake_in_design_toml_is_named_with_its_line(here: Path, old: str, new: str, message: str) -> None:
    assert old in TOML
    write(here / "mine", design_toml=TOML.replace(old, new, 1))
    with pytest.raises(DesignError, match="^mine/" + message):
        load_design("mine")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('lock = ["clam"]', r"design.toml:6: connections.lock: 'clam' is no operation that a worker .*; did you mean 'claim'"),
        ('lock = ["recover"]', r"design.toml:6: connections.lock: 'recover' is no operation that a worker of this design takes"),
        ('lock = ["complete"]', r"design.toml:6: connections.lock: 'complete' is no operation .* Known: claim, fail"),
        ('lock = ["claim"]\nbeat = ["claim"]', r"design.toml:7: connections.beat: claim runs on the connection lock already"),
        ('lock = ["claim", "claim"]', r"design.toml:6: connections.lock: claim runs on the connection lock already"),
        ("lock = []", r"design.toml:6: connections.lock: no operation runs on it"),
        ('lock = "claim"', r"design.toml:\d+: connections.*: expected array, got str"),
        ('Lock_1 = ["claim"]', r"design.toml:6: connections.Lock_1: a name is made of a-z, 0-9 and -"),
    ],
)
def test_a_mistake_in_the_connections_is_named_with_its_line(here: Path, lines: str, message: str) -> None:
    toml = TOML.replace("[promises]", f"[connections]\n{lines}\n\n[promises]")
    write(here / "mine", design_toml=toml, fail_sql="SELECT 1", recover_sql="SELECT 1")
    with pytest.raises(DesignError, match="^mine/" + message):
        load_design("mine")


def test_work_in_the_claims_transaction_is_on_one_connection(here: Path) -> None:
    work = 'ownership = "lease"\nwork_in_claim_transaction = true'
    toml = TOML.replace('ownership = "lease"', work).replace("[promises]", '[connections]\nlock = ["claim"]\n\n[promises]')
    write(here / "mine", design_toml=toml)
    with pytest.raises(DesignError, match=r"design.toml:7: connections.lock: the work is done in the claim's transaction"):
        load_design("mine")


def test_operations_of_a_worker_run_on_its_connections(here: Path) -> None:
    toml = TOML.replace("[promises]", '[connections]\nlock = ["claim"]\nbeat = ["fail", "release"]\n\n[promises]')
    write(here / "mine", design_toml=toml, fail_sql="SELECT 1", release_sql="SELECT 1", complete_sql="SELECT 1")
    design = load_design("mine")
    assert [design.connection_of(name) for name in ("complete", "claim", "fail", "release")] == [0, 1, 2, 2]
    assert [design.connection_name(place) for place in range(3)] == [None, "lock", "beat"]
    write(here / "plain")
    assert load_design("plain").connection_of("claim") == 0


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"claim_sql": None}, r"mine/design.toml: the design has no claim.sql"),
        (
            {"eligible_sql": None},
            r"mine/design.toml: the design has no eligible.sql; a design needs schema.sql, seed.sql, claim.sql",
        ),
        ({"jobs_sql": None}, r"mine/design.toml: the design has no jobs.sql"),
        ({"clam_sql": "SELECT 1"}, r"mine/clam.sql: 'clam' is no operation; did you mean 'claim'"),
        ({"recover_read_sql": "SELECT 1"}, r"recover-read.sql without its other half"),
        ({"recover_write_sql": "SELECT 1"}, r"recover-write.sql without its other half"),
        ({"recover_sql": "SELECT 1", "recover_read_sql": "SELECT 1", "recover_write_sql": "SELECT 1"}, r"both recover.sql and"),
        ({"claim_sql": "SELECT\n:token"}, r"^mine/claim.sql:2: :token: .* write :'token'"),
    ],
)
def test_a_mistake_in_the_files_is_named(here: Path, files: dict[str, str | None], message: str) -> None:
    write(here / "mine", **files)
    with pytest.raises(DesignError, match=message):
        load_design("mine")


def test_a_file_that_is_not_text_is_told(here: Path) -> None:
    write(here / "mine")
    (here / "mine" / "claim.sql").write_bytes(b"SELECT '\xff'")
    with pytest.raises(DesignError, match=r"mine/claim.sql: is not UTF-8 text"):
        load_design("mine")


def test_a_child_holds_only_what_differs(here: Path) -> None:
    write(here / "sql" / "base", fail_sql="SELECT 1", release_sql="SELECT 2")
    toml = 'extends = "base"\nremoves = ["fail"]\ntitle = "Child"\n[promises]\nbatch = 4\n'
    toml += '[expects]\nroot_cause = "x"\nconsequences = ["y"]\n'
    child = write_child(here / "sql" / "mutants" / "child", toml, release_sql="SELECT 3")
    design = load_design(str(child))
    assert (design.name, design.title, design.origin) == ("mutants/child", "Child", "test")
    assert {name: source.path for name, source in design.operations.items()} == {
        "schema": "../../base/schema.sql",
        "seed": "../../base/seed.sql",
        "claim": "../../base/claim.sql",
        "release": "release.sql",
        "jobs": "../../base/jobs.sql",
        "eligible": "../../base/eligible.sql",
    }
    assert (design.promises.batch, design.promises.invariants) == (4, frozenset({"claim-order"}))
    assert (design.expects_root_cause, design.allows_consequences) == ("x", frozenset({"y"}))


def test_the_results_of_a_removed_operation_go_with_it(here: Path) -> None:
    write(here / "sql" / "base", recover_sql="SELECT 1", design_toml=TOML + '[results.recover]\njob = "id"\n')
    write_child(here / "sql" / "child", 'extends = "base"\nremoves = ["recover"]')
    assert not load_design("child").offers("recover")


def test_the_results_of_what_a_middle_design_removes_go_too(here: Path) -> None:
    write(here / "sql" / "base", recover_sql="SELECT 1", design_toml=TOML + '[results.recover]\njob = "id"\n')
    write_child(here / "sql" / "child", 'extends = "base"\nremoves = ["recover"]')
    write_child(here / "sql" / "grandchild", 'extends = "child"')
    assert not load_design("grandchild").offers("recover")


def test_a_grandchild_inherits_without_removing_again(here: Path) -> None:
    write(here / "sql" / "base", recover_sql="SELECT 1")
    write_child(here / "sql" / "child", 'extends = "base"\nremoves = ["recover"]')
    write_child(here / "sql" / "grandchild", 'extends = "child"', recover_sql="SELECT 2")
    assert not load_design("child").offers("recover")
    assert load_design("grandchild").operations["recover"].text == "SELECT 2"


def test_a_removed_file_that_is_there_is_a_mistake(here: Path) -> None:
    write(here / "sql" / "base")
    write_child(here / "sql" / "child", 'extends = "base"\nremoves = ["claim"]', claim_sql="SELECT 1")
    with pytest.raises(DesignError, match=r"child/design.toml:2: removes: 'claim' is removed, yet claim.sql lies beside"):
        load_design("child")


def test_a_circle_of_extends_ends_with_an_error(here: Path) -> None:
    write_child(here / "sql" / "a", 'extends = "b"')
    write_child(here / "sql" / "b", 'extends = "a"')
    with pytest.raises(DesignError, match="is it a circle"):
        load_design("a")


def test_a_mistake_in_the_base_is_told_where_it_is(here: Path) -> None:
    write(here / "sql" / "base", claim_sql="SELECT :nope")
    write_child(here / "sql" / "child", 'extends = "base"')
    with pytest.raises(DesignError, match=r"^sql/base/claim.sql:1: unknown parameter"):
        load_design("child")


@pytest.mark.parametrize(("folder", "name"), [("base", "claim.sql"), ("base", "design.toml"), ("child", "design.toml")])
def test_the_hash_covers_everything_that_was_read(here: Path, folder: str, name: str) -> None:
    write(here / "sql" / "base")
    write_child(here / "sql" / "child", 'extends = "base"\ntitle = "Child"')
    before = load_design("child").sha256
    file = here / "sql" / folder / name
    file.write_text(file.read_text() + "\n")
    assert load_design("child").sha256 != before


def test_the_hash_does_not_depend_on_where_the_design_lies(here: Path) -> None:
    assert load_design(str(write(here / "a"))).sha256 == load_design(str(write(here / "b" / "c"))).sha256


@pytest.mark.parametrize("text", ["SELECT clock_timestamp()", "DO $$ BEGIN PERFORM Statement_Timestamp(); END $$"])
def test_the_statement_clock_is_noticed(here: Path, text: str) -> None:
    assert load_design(str(write(here / "mine", report_sql=text))).uses_statement_clock


def test_a_position_in_what_was_sent_leads_to_the_line_written(here: Path) -> None:
    design = load_design(str(write(here / "mine", claim_sql="-- claim\nSELECT CURRENT_TIMESTAMP(3),\n  :batch,\n  nonsense")))
    claim = design.operations["claim"]
    (statement,) = claim.statements
    assert place_of(design, claim, statement) == "mine/claim.sql:2"
    assert place_of(design, claim, statement, statement.sent.index("nonsense") + 1) == "mine/claim.sql:4"
    assert place_of(design, claim, statement, 0) == "mine/claim.sql:2"


def test_literals_that_read_the_real_clock_are_reported(here: Path) -> None:
    report = "SELECT timestamptz 'now', 'nowhere',\n 'Tomorrow'::date;\nDO $$ BEGIN\nEXECUTE 'SELECT current_date'; END $$"
    design = load_design(str(write(here / "mine", report_sql=report)))
    assert [found.split(" reads")[0] for found in escapes(design)] == [
        "mine/report.sql:1: 'now'",
        "mine/report.sql:2: 'Tomorrow'",
        "mine/report.sql:4: 'SELECT current_date'",
    ]
