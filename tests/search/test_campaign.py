"""What a campaign is: its schedules by number, its budget, its figures, and what must be the same when it is resumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec import structs

from simrunner.errors import InputError, RunFolderError, TapeError, WorkloadError
from simrunner.model.operations import SEARCHED_CRASH_POINTS
from simrunner.model.workload import FaultSpec
from simrunner.runtime.performance import Request
from simrunner.search.campaign import Budget, Campaign, check_given, check_same, identity_of, request_of
from simrunner.search.crew import Progress
from simrunner.search.figures import Figures, Scale, figures_of
from simrunner.search.findings import firsts, place_of, prune
from simrunner.search.sources import Exhaustive, Seeded, going_first
from simrunner.store.folder import COMPLETE, INTERRUPTED, RunFolder
from simrunner.store.schedules import Ledger, ScheduleResult
from tests.runtime.runs import STARTED

SMOKE = Campaign("smoke", "reference")
SCALE = Scale(3, 10, None, ("no-job-lost", "lease-honoured"))


@pytest.fixture(scope="module")
def base() -> Request:
    return request_of(SMOKE)


def result(number: int, verdict: str = "valid", cause: str | None = None, **more: object) -> ScheduleResult:
    usual = ScheduleResult(
        number, number, verdict, cause, f"sha{number}", 5, 9, 1000, exercised=SCALE.goals, depth=1 + number % 3
    )
    return structs.replace(usual, **more)


def test_a_schedule_is_fixed_by_seed_and_number(base: Request) -> None:
    one, other = Seeded(base, 1), Seeded(base, 1)
    assert [one.request(number) for number in (5, 0, 3)] == [other.request(number) for number in (5, 0, 3)]
    assert len({one.request(number).seed for number in range(200)}) == 200


def test_depths_take_turns(base: Request) -> None:
    assert [Seeded(base, 1).request(number).options.depth for number in range(7)] == [1, 2, 3, 1, 2, 3, 1]


def kills(base: Request, most: int, schedules: int = 300) -> list[tuple[FaultSpec, ...]]:
    return [Seeded(base, most).request(number).workload.faults for number in range(schedules)]


def test_half_of_the_schedules_have_a_kill_and_every_point_has_its_turn(base: Request) -> None:
    drawn = kills(base, 1)
    assert 100 < sum(1 for faults in drawn if faults) < 200
    points = Counter(fault.crash_point for faults in drawn for fault in faults)
    assert sorted(point or "" for point in points) == sorted(SEARCHED_CRASH_POINTS)
    assert all(count > 10 for count in points.values())


def test_more_kills_where_they_are_asked_for(base: Request) -> None:
    assert {len(faults) for faults in kills(base, 3)} == {0, 1, 2, 3}
    assert not any(kills(base, 0))


def test_faults_lie_where_the_design_has_them() -> None:
    """Where the work is done in the claim's transaction nobody stands at after-complete."""
    inside = request_of(Campaign("smoke", "variants/lock-only"))
    points = {fault.crash_point for faults in kills(inside, 1) for fault in faults}
    assert "after-complete" not in points
    assert "after-commit" in points


def test_exhaustive_goes_on_behind_the_last_schedule(base: Request) -> None:
    source = Exhaustive(base, 1, frozenset(), result(7, path=((2, 0), (2, 1))))
    request = source.request(8)
    assert request is not None
    assert request.decider is not None
    assert getattr(request.decider, "prefix", None) == [1]
    source.ended(result(8, path=((2, 1), (3, 2))))
    assert source.request(9) is None


def test_the_recoverer_goes_first_unless_asked_for(base: Request) -> None:
    assert going_first(SMOKE, base) == {"recoverer"}
    assert going_first(structs.replace(SMOKE, recovery=True), base) == frozenset()


def test_a_script_is_nothing_to_explore() -> None:
    with pytest.raises(WorkloadError, match=r"claim-boundary.toml: is a script: its steps are fixed"):
        request_of(Campaign("claim-boundary", "reference"))


@pytest.mark.parametrize(
    ("budget", "over"),
    [
        (Budget(), False),
        (Budget(steps=11), False),
        (Budget(steps=10), True),
        (Budget(stop_at_first=True), True),
    ],
)
def test_a_budget_ends(budget: Budget, over: bool) -> None:
    progress = Progress()
    progress.add(result(0))
    progress.add(result(1, "violated", "claim-order"))
    assert progress.is_over(budget) is over


def test_time_and_the_end_of_a_search_end_it_too() -> None:
    assert Progress(deadline=0.0).is_over(Budget())
    assert Progress(is_exhausted=True).is_over(Budget())
    assert not Progress().is_over(Budget(stop_at_first=True))


def test_of_each_root_cause_the_smallest_number_is_kept() -> None:
    """Whichever coordinator ends first."""
    progress = Progress()
    for one in (result(5, "violated", "claim-order"), result(3, "violated", "claim-order"), result(4, "violated", "no-job-lost")):
        progress.add(one)
    assert progress.known(3) == ()
    assert progress.known(4) == ("claim-order",)
    assert progress.known(6) == ("claim-order", "no-job-lost")


def test_other_arguments_are_told() -> None:
    check_given(SMOKE, {"seed": 1, "strategy": "pct", "schedules": 200, "settings": {}})
    with pytest.raises(InputError, match=r"--resume: .* seed 2 \(it has 1\), stop-at-first True \(it has False\)"):
        check_given(SMOKE, {"seed": 2, "stop_at_first": True, "depth": 3})


def campaign_folder(results: Path, base: Request, **more: object) -> RunFolder:
    folder = RunFolder.create(results, "explore", "reference", 1, STARTED, records=False)
    folder.update_run(kind="campaign", **{**structs.asdict(identity_of(base)), **more})
    return folder


def test_what_has_changed_is_told(tmp_path: Path, base: Request) -> None:
    with campaign_folder(tmp_path, base) as same:
        check_same(same, base)
    with (
        campaign_folder(tmp_path, base, design_sha256="0", workload_sha256="1") as other,
        pytest.raises(TapeError, match="cannot be resumed: design and workload changed since it began"),
    ):
        check_same(other, base)


def test_a_campaign_that_is_going_on_is_not_resumed(tmp_path: Path, base: Request) -> None:
    with campaign_folder(tmp_path, base) as going:
        with pytest.raises(RunFolderError, match="is still running"):
            RunFolder.reopen(going.path)
        path = going.path
    with RunFolder.reopen(path) as again:
        assert again.is_owner


def figures(
    tmp_path: Path, base: Request, results: Sequence[ScheduleResult], campaign: Campaign = SMOKE, status: str = COMPLETE
) -> Figures:
    with campaign_folder(tmp_path, base, status=status) as folder:
        ledger = Ledger(folder.path, 0, 0)
        for one in results:
            ledger.append(one, [])
        ledger.close()
        return figures_of(folder, campaign, SCALE, results, [place_of(folder.path, one) for one in firsts(results).values()])


def test_figures(tmp_path: Path, base: Request) -> None:
    results = [
        result(0, crash_points=("after-commit",)),
        result(1, sha256="sha0"),
        result(2, "violated", "claim-order", crash_points=("after-commit", "before-claim")),
        result(3, "violated", "claim-order", steps=50),
        result(4, "unknown", error="stuck", exercised=()),
        result(5, "violated", "fenced-writes", is_deterministic=False),
    ]
    found = figures(tmp_path, base, results)
    assert (found.verdict, found.schedules, found.unknown, found.distinct_histories) == ("violated", 6, 1, 4)
    assert (found.steps, found.longest_steps, found.events, found.not_deterministic) == (75, 50, 54, 1)
    assert found.crash_points == {**dict.fromkeys(SEARCHED_CRASH_POINTS, 0), "before-claim": 1, "after-commit": 2}
    assert found.goals == {"no-job-lost": 5, "lease-honoured": 5}
    assert [(one.root_cause, one.schedules, one.first, one.folder) for one in found.findings] == [
        ("claim-order", 2, 2, "findings/claim-order-2"),
        ("fenced-writes", 1, 5, "findings/fenced-writes-5"),
    ]
    assert found.reasons == {"stuck": 1}


def test_probability_counts_what_each_schedule_looked_for(tmp_path: Path, base: Request) -> None:
    """Three actors, ten steps, two schedules of each depth; the unknown one does not count."""
    results = [*(result(number) for number in range(6)), result(6, "unknown")]
    one, ten, hundred = (1 - 1 / (3 * 10**power) for power in range(3))
    assert figures(tmp_path, base, results).probability == {
        "1": pytest.approx(1 - (one * ten * hundred) ** 2, abs=1e-6),
        "2": pytest.approx(1 - (ten * hundred) ** 2, abs=1e-6),
        "3": pytest.approx(1 - hundred**2, abs=1e-6),
    }
    assert figures(tmp_path, base, results, structs.replace(SMOKE, strategy="random")).probability == {}


@pytest.mark.parametrize(
    ("results", "verdict"),
    [
        ([result(0), result(1)], "valid"),
        ([result(0), result(1, "unknown", error="e")], "unknown"),
        ([result(0, "unknown", error="e"), result(1, "violated", "claim-order")], "violated"),
        ([result(0, exercised=("no-job-lost",))], "not exercised"),
        ([], "not exercised"),
    ],
)
def test_verdicts(tmp_path: Path, base: Request, results: list[ScheduleResult], verdict: str) -> None:
    assert figures(tmp_path, base, results).verdict == verdict


@pytest.mark.parametrize(("cause", "verdict"), [(None, "unknown"), ("claim-order", "violated")])
def test_of_a_campaign_that_was_ended_early_only_a_violation_stands(
    tmp_path: Path, base: Request, cause: str | None, verdict: str
) -> None:
    results = [result(0), result(1, "violated" if cause else "valid", cause)]
    assert figures(tmp_path, base, results, status=INTERRUPTED).verdict == verdict


def test_an_exhaustive_search_says_whether_it_is_through(tmp_path: Path, base: Request) -> None:
    search = structs.replace(SMOKE, strategy="exhaustive")
    assert figures(tmp_path, base, [result(0, path=((2, 1), (1, 0)))], search).is_exhausted
    assert not figures(tmp_path, base, [result(0, path=((2, 0), (1, 0)))], search).is_exhausted


def test_only_the_first_of_each_root_cause_is_kept(tmp_path: Path) -> None:
    results = [result(3, "violated", "claim-order"), result(4, "violated", "claim-order"), result(9, "violated", "no-job-lost")]
    for place in [*(place_of(tmp_path, one) for one in results), tmp_path / "findings" / ".new-1-0"]:
        place.mkdir(parents=True)
    assert [place.name for place in prune(tmp_path, results)] == ["claim-order-3", "no-job-lost-9"]
    assert sorted(place.name for place in (tmp_path / "findings").iterdir()) == ["claim-order-3", "no-job-lost-9"]
