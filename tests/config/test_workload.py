"""Loading workloads: defaults, bounds, settings, every mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from simrunner.config import list_workloads, load_workload
from simrunner.errors import WorkloadError
from simrunner.model.workload import Actors, FaultSpec, Fixture, Liveness, Producer, Safety

TOML = """\
title = "A question"
question = "Does it hold?"

[fixture]
jobs = 4

[actors]
workers = 2

[[producers]]
jobs_per_round = 1

[[producers]]
jobs_per_round = 2
priority = 7

[safety]
rounds = 3
round_ms = 1000

[liveness]
rounds = 9
round_ms = 2000

[[faults]]
kind = "kill"
crash_point = "after-commit"

[policy]
lease_ms = 5000

[judge]
judges = ["claim-order", "no-job-lost"]
must_exercise = ["claim-order"]
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(TOML)
    return tmp_path


def write(text: str) -> None:
    folder = Path("workloads")
    folder.mkdir(exist_ok=True)
    (folder / "mine.toml").write_text(text, encoding="utf-8")


def test_a_workload_is_read_with_its_defaults() -> None:
    workload = load_workload("mine")
    assert (workload.name, workload.title, workload.question, workload.path) == (
        *("mine", "A question", "Does it hold?", "workloads/mine.toml"),
    )
    assert (workload.strategy, workload.cohort, workload.batch, workload.max_attempts) == ("random", "seed", 1, 5)
    assert workload.fixture == Fixture(4)
    assert workload.actors == Actors(2, (Producer(1), Producer(2, 7)))
    assert (workload.safety, workload.liveness) == (Safety(3, 1000), Liveness(9, 2000))
    assert workload.faults == (FaultSpec("kill", "after-commit"),)
    assert (workload.lease_ms, workload.retry_delay_ms, workload.starvation_claims, workload.vacuum_every_rounds) == (
        5000,
        0,
        10,
        0,
    )
    assert (workload.judges, workload.must_exercise) == (("claim-order", "no-job-lost"), ("claim-order",))
    assert (workload.min_backlog, workload.settings) == (0, ())


@pytest.mark.parametrize("name", ["mine", "workloads/mine.toml", "./workloads/mine.toml"])
def test_a_name_and_a_path_are_the_same_workload(name: str) -> None:
    assert load_workload(name).name == "mine"


def test_both_own_and_shipped_workloads_are_listed() -> None:
    titles = {entry.name: entry.title for entry in list_workloads()}
    assert titles["mine"] == "A question"
    assert titles["smoke"] == load_workload("smoke").title
    assert list(titles) == sorted(titles)


@pytest.mark.parametrize(("name", "meant"), [("smok", "'smoke'"), ("high_depth", "'high-depth'"), ("mien", "'mine'")])
def test_an_unknown_name_is_answered_with_near_misses(name: str, meant: str) -> None:
    with pytest.raises(WorkloadError, match=f"no workload '{name}' .* did you mean {meant}.* Known: .*high-depth, .*mine"):
        load_workload(name)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "A question"', "title = ", r"mine.toml:1: not valid TOML"),
        ('title = "A question"', "", r"mine.toml: the key title is missing"),
        ("jobs = 4", "jobs = 0", r"mine.toml:5: fixture.jobs: expected int >= 1"),
        ("jobs = 4", "jobs = 1_000_001", r"mine.toml:5: fixture.jobs: expected int <= 1000000"),
        ("jobs = 4", "jobs = 1_000_000\nbacklog = 1", r"mine.toml:6: fixture: jobs and backlog are more than 1000000 together"),
        ("jobs = 4", "job = 4", r"mine.toml:5: unknown key fixture.job; did you mean 'jobs'"),
        ("[fixture]", "[fixtures]", r"mine.toml:4: unknown key fixtures; did you mean 'fixture'"),
        ("workers = 2", "workers = 0", r"mine.toml:8: actors.workers: expected int >= 1"),
        ("workers = 2", "workers = 65", r"mine.toml:8: actors.workers: expected int <= 64"),
        ("workers = 2", "workers = 2.5", r"mine.toml:8: actors.workers: expected int, got float"),
        ("workers = 2", "workers = 2\nrecoverers = -1", r"mine.toml:9: actors.recoverers: expected int >= 0"),
        (
            "workers = 2",
            'workers = 2\nghost_operations = ["claim"]',
            r"mine.toml:9: actors.ghost_operations: 'claim' is not among",
        ),
        ("priority = 7", "priority = 3_000_000_000", r"mine.toml:15: producers\[1\].priority: expected int <= 2147483647"),
        ("priority = 7", "prioritty = 7", r"mine.toml:15: unknown key producers\[1\].prioritty; did you mean 'priority'"),
        ("jobs_per_round = 1", "jobs_per_round = -1", r"mine.toml:11: producers\[0\].jobs_per_round: expected int >= 0"),
        ("rounds = 3", "rounds = 0", r"mine.toml:18: safety.rounds: expected int >= 1"),
        ("rounds = 9", "rounds = 100_001", r"mine.toml:22: liveness.rounds: expected int <= 100000"),
        ("round_ms = 2000", "", r"mine.toml:21: the key liveness.round_ms is missing"),
        ('kind = "kill"', "", r"mine.toml:25: the key faults\[0\].kind is missing"),
        (
            '"after-commit"',
            '"after-comit"',
            r"mine.toml:27: faults\[0\].crash_point: no crash point 'after-comit'; did you mean 'after-commit",
        ),
        ('"after-commit"', '"after-commit"\ntimes = 0', r"mine.toml:28: faults\[0\].times: expected int >= 1"),
        ("lease_ms = 5000", "lease_ms = 0", r"mine.toml:30: policy.lease_ms: expected int >= 1"),
        ("lease_ms = 5000", 'lease_ms = "5s"', r"mine.toml:30: policy.lease_ms: expected int, got str"),
        ('judges = ["claim-order", "no-job-lost"]', "judges = []", r"mine.toml:33: judge.judges: expected array of length >= 1"),
        (
            'must_exercise = ["claim-order"]',
            'must_exercise = ["claim-ordr"]',
            r"mine.toml:34: judge.must_exercise: .* did you mean 'claim-order'",
        ),
        ("[judge]", '[judge]\ncohort = "none"', r"mine.toml:33: judge.cohort: .*; expected one of: all, seed"),
    ],
)
def test_a_mistake_is_named_with_its_line(old: str, new: str, message: str) -> None:
    assert old in TOML
    write(TOML.replace(old, new, 1))
    with pytest.raises(WorkloadError, match="^workloads/" + message):
        load_workload("mine")


@pytest.mark.parametrize(
    ("key", "value", "full"),
    [
        ("backlog", "7", "fixture.backlog"),
        ("fixture.backlog", "7", "fixture.backlog"),
        ("safety.rounds", "7", "safety.rounds"),
        ("lease_ms", "7", "policy.lease_ms"),
        ("producers.1.priority", "7", "producers.1.priority"),
        ("crash_point", "during-work", "faults.0.crash_point"),
        ("must_exercise", "no-job-lost, claim-order", "judge.must_exercise"),
        ("strategy", "round-robin", "strategy"),
        ("cohort", "all", "judge.cohort"),
    ],
)
def test_a_setting_changes_one_value(key: str, value: str, full: str) -> None:
    plain, changed = load_workload("mine"), load_workload("mine", {key: value})
    assert changed.settings == ((full, value),)
    assert changed.sha256 != plain.sha256
    assert changed != plain


def test_settings_arrive_with_their_types() -> None:
    workload = load_workload(
        "mine", {"workers": "3", "must_exercise": "no-job-lost,", "backlog_priority": "-4", "safety.rounds": "8"}
    )
    assert (workload.actors.workers, workload.must_exercise, workload.fixture.backlog_priority, workload.safety.rounds) == (
        *(3, ("no-job-lost",), -4, 8),
    )
    assert [key for key, _ in workload.settings] == [
        "actors.workers",
        "fixture.backlog_priority",
        "judge.must_exercise",
        "safety.rounds",
    ]


def test_the_order_and_the_form_of_settings_do_not_matter() -> None:
    assert load_workload("mine", {"jobs": "5", "workers": "1"}) == load_workload(
        "mine", {"actors.workers": "1", "fixture.jobs": "5"}
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rounds": "3"}, "--set rounds: which one[?] Write safety.rounds or liveness.rounds"),
        ({"backlgo": "3"}, "--set backlgo: no such key; did you mean 'fixture.backlog'"),
        ({"safty.rounds": "3"}, "--set safty.rounds: no such key; did you mean 'safety.rounds'"),
        ({"fixture": "3"}, "--set fixture: no such key"),
        ({"producers.2.priority": "3"}, "--set producers.2.priority: no such key; did you mean 'producers"),
        ({"workers": "many"}, "--set workers=many: expected int"),
        ({"workers": "99"}, "--set workers=99: expected int <= 64"),
        ({"workers": ""}, "--set workers=: expected int"),
        ({"cohort": "some"}, "--set cohort=some: .*; expected one of: all, seed"),
        ({"jobs": "1", "fixture.jobs": "2"}, "fixture.jobs is set twice"),
        ({"must_exercise": "claim-atomic"}, "judge.must_exercise: 'claim-atomic' is not among"),
        ({"judges": ""}, "judge.judges: expected array of length >= 1"),
        ({"crash_point": "later"}, "no crash point 'later'"),
    ],
)
def test_a_bad_setting_is_named(settings: dict[str, str], message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        load_workload("mine", settings)


def test_the_hash_is_the_files() -> None:
    before = load_workload("mine").sha256
    write(TOML + "\n# a remark\n")
    assert load_workload("mine").sha256 != before
