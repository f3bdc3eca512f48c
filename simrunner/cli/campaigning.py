"""Carries out a campaign for `simrunner explore`: its folder, its coordinators, progress, and the report at its end.

Loads no numpy, pandas or pyarrow before the coordinators have ended.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from msgspec import structs, to_builtins
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from simrunner.cli.output import say_json, say_page, terminal
from simrunner.cli.signals import interruptible
from simrunner.errors import InputError, Interrupted, SimrunnerError, TapeError
from simrunner.model.verdict import EXIT_CODE, Verdict
from simrunner.report.campaign import closing_page, opening_page, resume_line
from simrunner.runtime.performance import Request
from simrunner.search.campaign import Campaign, Kept, campaign_in, check_given, check_same, identity_of, kept_in, request_of
from simrunner.search.coordinator import Assignment
from simrunner.search.crew import Coordinator, crew_of, direct, greet, measured
from simrunner.search.figures import Figures, Scale, document_of, figures_of, scale_in, scale_of
from simrunner.search.findings import firsts, place_of, prune
from simrunner.search.talk import Begin, Ready
from simrunner.store.folder import COMPLETE, FAILED, INTERRUPTED, RUN_JSON, RUNNING, RunFolder
from simrunner.store.schedules import ScheduleResult, check_sealed, repair, results_in, unseal_lines

EXPLORE = "explore"
CAMPAIGN_JSON = "campaign.json"
"""The figures of a campaign."""


@dataclass(frozen=True, slots=True)
class Place:
    """How a campaign is run: what may differ when it is resumed."""

    dsn: str | None
    jobs: int
    results: Path
    as_json: bool


def begin(campaign: Campaign, place: Place) -> int:
    """Run a new campaign and print what it achieved. Returns the exit code. Raises SimrunnerError."""
    base = request_of(campaign)
    folder: RunFolder | None = None
    error: SimrunnerError | None = None
    with interruptible():
        try:
            with crew_of(_assignments(campaign, base, place)) as crew:
                ready = greet(crew)
                campaign = structs.replace(campaign, postgres=ready.major)
                scale = scale_of(base, *measured(crew[0]))
                folder = _new_folder(campaign, base, ready, scale, place)
                _direct(crew, folder, campaign, base, place)
        except SimrunnerError as early:
            if folder is None:
                raise
            error = early
        with folder:
            return _conclude(folder, campaign, error, place)


def resume(path: Path, given: Mapping[str, object], place: Place) -> int:
    """Go on with a campaign, or show a complete one again. Returns the exit code. Raises SimrunnerError.

    `given` are arguments that must be those of the campaign.
    """
    with RunFolder.reopen(path) as folder:
        kept = kept_in(folder)
        campaign = kept.campaign
        check_given(campaign, given)
        if folder.run().get("status") == COMPLETE:
            return show(folder, as_json=place.as_json)
        scale_in(folder)  # before anything is started
        check_sealed(folder.path)
        base = _request_again(kept, path)
        check_same(folder, base)
        repair(folder.path)
        done = results_in(folder.path)
        begun = False
        error: SimrunnerError | None = None
        with interruptible():
            try:
                with crew_of(_assignments(campaign, base, place, done, folder.fileno())) as crew:
                    _check_major(campaign, greet(crew))
                    folder.update_run(status=RUNNING, sessions=kept.sessions + 1)
                    begun = True
                    unseal_lines(folder.path)
                    _direct(crew, folder, campaign, base, place, done=done)
            except SimrunnerError as early:
                if not begun:
                    raise
                error = early
            return _conclude(folder, campaign, error, place)


def _request_again(kept: Kept, path: Path) -> Request:
    try:
        return request_of(kept.campaign, kept.paths)
    except InputError as error:
        raise TapeError(f"cannot be resumed, its design or workload is gone or changed: {error}", place=path) from error


def show(folder: RunFolder, *, as_json: bool) -> int:
    """Print what a campaign that has ended achieved. Returns the exit code. Raises RunFolderError."""
    campaign = campaign_in(folder)
    check_sealed(folder.path)
    results = results_in(folder.path)
    places = [place_of(folder.path, result) for result in firsts(results).values()]
    figures = figures_of(folder, campaign, scale_in(folder), results, places)
    _say(folder, campaign, figures, as_json=as_json)
    return _exit_code(figures)


def _assignments(
    campaign: Campaign, base: Request, place: Place, done: Sequence[ScheduleResult] = (), *closes: int
) -> list[Assignment]:
    return [Assignment(number, campaign, base, place.dsn, done, closes) for number in range(place.jobs)]


def _new_folder(campaign: Campaign, base: Request, ready: Ready, scale: Scale, place: Place) -> RunFolder:
    design, workload = base.design, base.workload
    facts = {
        "kind": "campaign",
        "workload": workload.name,
        **structs.asdict(identity_of(base)),
        "postgres": {"major": ready.major, "version": ready.version},
        "paths": {"design": design.folder, "workload": str(Path(workload.path).resolve())},
        "campaign": to_builtins(campaign),
        "scale": to_builtins(scale),
        "sessions": 1,
    }
    now = datetime.now(UTC)
    return RunFolder.create(place.results, EXPLORE, design.name, campaign.seed, now, records=False, facts=facts)


def _check_major(campaign: Campaign, ready: Ready) -> None:
    if ready.major != campaign.postgres:
        raise TapeError(f"the campaign was begun on PostgreSQL {campaign.postgres}, but the server is PostgreSQL {ready.major}")


def _direct(
    crew: Sequence[Coordinator],
    folder: RunFolder,
    campaign: Campaign,
    base: Request,
    place: Place,
    *,
    done: Sequence[ScheduleResult] = (),
) -> None:
    """Say what is to be done and have the schedules run. Raises what ended them early."""
    kept, scale = kept_in(folder), scale_in(folder)
    say_page(opening_page(campaign, base, kept.postgres, scale, folder.path), err=place.as_json)
    orders = Begin(str(folder.path), kept.started, kept.sessions - 1, scale.steps)
    with _progress(_most(campaign, scale), done, quiet=place.as_json) as told:
        direct(crew, orders, campaign.budget, done, told)


def _conclude(folder: RunFolder, campaign: Campaign, error: SimrunnerError | None, place: Place) -> int:
    """Put the folder in order and say what was achieved. Raises what ended the campaign early."""
    try:
        figures = _put_in_order(folder, campaign, error)
        _say(folder, campaign, figures, as_json=place.as_json)
        if error is not None:
            raise error
    except SimrunnerError as last:
        first = error or last
        if (folder.path / RUN_JSON).exists():
            first.add_note(f"What was finished until then is kept. To go on: {resume_line(folder.path)}")
        raise first from None
    return _exit_code(figures)


def _put_in_order(folder: RunFolder, campaign: Campaign, error: SimrunnerError | None) -> Figures:
    from simrunner.store.histories import seal_campaign

    repair(folder.path)
    results = results_in(folder.path)
    kept = prune(folder.path, results)
    seal_campaign(folder.path)
    for one in kept:
        _seal_finding(RunFolder.open(one))
    folder.update_run(status=COMPLETE if error is None else INTERRUPTED if isinstance(error, Interrupted) else FAILED)
    figures = figures_of(folder, campaign, scale_in(folder), results, kept)
    folder.write_json(CAMPAIGN_JSON, document_of(figures))
    return figures


def _seal_finding(run: RunFolder) -> None:
    """Make a kept schedule a run folder like any other: sealed, with its verdict."""
    from simrunner.analysis.pipeline import analyse, publish
    from simrunner.store.seal import seal

    seal(run)
    publish(run, analyse(run))


def _exit_code(figures: Figures) -> int:
    return EXIT_CODE[Verdict(figures.verdict)]


def _say(folder: RunFolder, campaign: Campaign, figures: Figures, *, as_json: bool) -> None:
    if as_json:
        say_json({**document_of(figures), "campaign": to_builtins(campaign), "folder": str(folder.path)})
    else:
        say_page(closing_page(campaign, scale_in(folder), figures, folder.path))


def _most(campaign: Campaign, scale: Scale) -> int:
    """Schedules that may be run."""
    return min(campaign.budget.schedules, scale.interleavings or campaign.budget.schedules)


@contextmanager
def _progress(most: int, done: Sequence[ScheduleResult], *, quiet: bool) -> Iterator[Callable[[ScheduleResult], None]]:
    """A progress bar on a terminal, drawn at each schedule by this one thread; quiet in a pipe."""
    if quiet or not sys.stdout.isatty():
        yield lambda result: None
        return
    columns = (TextColumn("{task.description:<24}"), BarColumn(), MofNCompleteColumn(), TextColumn("schedules at most"))
    with Progress(*columns, console=terminal(), auto_refresh=False, transient=True, redirect_stdout=False) as progress:
        task = progress.add_task("", total=most, completed=len(done))
        causes = firsts(done)

        def told(result: ScheduleResult) -> None:
            causes.update({} if result.root_cause is None else {result.root_cause: result})
            progress.update(task, advance=1, description=", ".join(causes) or "nothing found yet")
            progress.refresh()

        yield told
