"""What is read from outside, kind by kind: how an input is spoilt and how it is read."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random
from typing import NamedTuple

import click

from simrunner.analysis.pipeline import analyse
from simrunner.cli import main
from simrunner.config import load_design, load_workload
from simrunner.config.escapes import escapes
from simrunner.errors import SimrunnerError
from simrunner.report.acceptance.manifest import verify
from simrunner.report.describe import design_page, workload_page
from simrunner.review.registry import review
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.coordinator import Request, execute
from simrunner.runtime.database import create
from simrunner.search.play import begin
from simrunner.search.replay import read
from simrunner.search.request import prepare
from simrunner.spec.plan import read_plan
from simrunner.store.folder import COMPLETE, RunFolder
from simrunner.store.seal import seal
from tests.hostile import mutations as m
from tests.hostile.seeds import Seeds
from tests.hostile.tables import parquet_changed
from tests.runtime.runs import QUIET, ROOT, STARTED

NOWHERE = "host=/nowhere/at/all"
"""A server that does not answer: a command that gets so far has accepted what it was given, and ends with 4."""


class Input(NamedTuple):
    """One file of a folder."""

    folder: Path
    file: str


class Kind(NamedTuple):
    """One kind of input."""

    name: str
    inputs: Callable[[Seeds], Sequence[Input]]
    ways: tuple[m.Mutation, ...]
    read: Callable[[Path, Path, Random], None]
    """Reads the folder, in which the file was spoilt. Raises SimrunnerError or ClickException if it is refused."""
    spoils_places: bool = True
    """Whether the file may also be missing, a folder, a link."""
    played: bool = False
    """Whether what is not refused is played on a server: a smaller sample will do."""


def called(*words: str | Path) -> int:
    """Run a command in this process and return its exit code; unlike the program it lets every error out."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        code = click.Group.main(main, [str(word) for word in words], prog_name="simrunner", standalone_mode=False)
    return code if isinstance(code, int) else 0


def _files(folder: Path, pattern: str) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.glob(pattern) if path.is_file())


def _of(folder: Path, *patterns: str) -> list[Input]:
    found = [Input(folder, name) for pattern in patterns for name in _files(folder, pattern)]
    assert found, f"{folder} has none of {patterns}"
    return found


def _read_workload(folder: Path, file: Path, chance: Random) -> None:
    prepare(str(file), chance.choice(("reference", "variants/lock-only")), {}, seed=1, mode="stepped", strategy=None)
    workload_page(load_workload(str(file))).render(80, colour=False)


def _read_design(folder: Path, file: Path, chance: Random) -> None:
    prepare("smoke", str(folder), {}, seed=1, mode="stepped", strategy=None)
    design = load_design(str(folder))
    escapes(design)
    if chance.random() < 0.2:  # it takes ten times as long as the rest
        review(design)
    design_page(design).render(80, colour=False)


def _read_spec(folder: Path, file: Path, chance: Random) -> None:
    next(read_plan(file).permutations())


def _read_run(folder: Path, file: Path, chance: Random) -> None:
    """Give the folder to one of the commands that read a run."""
    words = chance.choice((["analyze"], ["analyze", "--json"], ["replay"], ["shrink"], ["export", "--to", "spec"]))
    if words[0] in ("replay", "shrink"):
        words = [*words, "--dsn", NOWHERE]
    with _nothing_kept(folder):
        called(*words, folder)


def _contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in _files(folder, "**/*")}


DECISIVE = ("run.json", "verdict.json")
"""What makes a folder look like a finished or a judged run."""


@contextmanager
def _nothing_kept(folder: Path) -> Iterator[None]:
    """A folder that was refused is no more finished than it was."""
    before = _contents(folder)
    try:
        yield
    except (SimrunnerError, click.ClickException) as error:
        if error.exit_code == 2:
            after = _contents(folder)
            assert [name for name in DECISIVE if before.get(name) != after.get(name)] == []
            assert "seal.json" in after or "events/journal" in after or "events/journal" not in before
        raise


def _read_again_sealed(folder: Path, file: Path, chance: Random) -> None:
    """Analyze a run whose seal was made to fit: now the readers of each file have to find what is wrong."""
    seal = folder / "seal.json"
    sums = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in json.loads(seal.read_bytes())}
    seal.write_text(json.dumps(sums))
    _read_run(folder, file, chance)


def _analyze(folder: Path, file: Path, chance: Random) -> None:
    with _nothing_kept(folder):
        called(*chance.choice((["analyze"], ["analyze", "--json"], ["replay", "--dsn", NOWHERE])), folder)


def _read_campaign(folder: Path, file: Path, chance: Random) -> None:
    if chance.random() < 0.7:
        called(*chance.choice((["analyze"], ["analyze", "--json"])), folder)
    else:
        called("explore", "--resume", folder, "--dsn", NOWHERE)


def _read_acceptance(folder: Path, file: Path, chance: Random) -> None:
    """Evidence that was altered is never taken for intact."""
    before = file.read_bytes() if file.is_file() else None
    called(*chance.choice((["analyze"], ["analyze", "--json"])), folder)
    name = file.relative_to(folder).as_posix()
    assert not name.startswith("evidence/") or before == ORIGINALS[name] or verify(RunFolder.open(folder))


ORIGINALS: dict[str, bytes] = {}


def _acceptance(seeds: Seeds) -> list[Input]:
    folder = seeds.acceptance
    ORIGINALS.update(_contents(folder))
    small = _of(folder, "run.json", "evidence/manifest.json", "experiments/*/run.json", "experiments/*/seal.json")
    return small * 4 + _of(folder, "evidence/*", "experiments/**/*")


def _read_command(folder: Path, file: Path, chance: Random) -> None:
    """Give the words of a file to the command line. Where a server would be used, one is named that does not answer."""
    words = [word.replace("\0", "") for word in file.read_bytes().decode(errors="surrogateescape").split("\n") if word]
    command = main.commands.get(words[0]) if words else None
    if command is not None and any(parameter.name == "dsn" for parameter in command.params):
        words[1:1] = ["--dsn", NOWHERE]
    assert "--output" not in words
    called(*words)


def _play(folder: Path, file: Path, chance: Random) -> None:
    """Play a short run of a design on the shared server: it reaches its end, or its folder says that it did not."""
    wanted = prepare("smoke", str(folder), {}, seed=1, mode=chance.choice(("stepped", "rounds")), strategy=None)
    _played(wanted, folder.parent / "results")


def _play_workload(folder: Path, file: Path, chance: Random) -> None:
    """Play a workload against the reference, if it is small."""
    wanted = prepare(str(file), "reference", {}, seed=1, mode="stepped", strategy=None)
    workload = wanted.workload
    jobs = workload.fixture.jobs + workload.fixture.backlog + sum(step.jobs or 0 for step in workload.script)
    rounds = workload.safety.rounds + workload.liveness.rounds + sum(step.times for step in workload.script)
    if jobs <= 200 and rounds <= 60 and workload.actors.workers <= 8 and not workload.actors.producers:
        _played(wanted, folder.parent / "results")


def _play_tape(folder: Path, file: Path, chance: Random) -> None:
    """Follow the tape of a run, or stop where it cannot be followed."""
    _, wanted = read(RunFolder.open(folder))
    _played(wanted, folder.parent / "results")


def _played(wanted: Request, results: Path) -> None:
    shutil.rmtree(results, ignore_errors=True)
    with create(CLUSTER[0], "hostile") as database, begin(wanted, CLUSTER[0], results, STARTED) as folder:
        try:
            execute(wanted, folder, database, QUIET)
        finally:
            ended = sys.exc_info()[1] is None
            assert (folder.status() == COMPLETE) is ended
    seal(folder)
    analyse(folder)


CLUSTER: list[Cluster] = []
"""The server that all share."""

BY_TEXT = (*m.BYTES, *m.LINES, *m.LINES)

KINDS = (
    Kind("workload", lambda seeds: _of(seeds.workloads, "*.toml"), (*BY_TEXT, *m.TOML, *m.TOML), _read_workload),
    Kind(
        "design.toml", lambda seeds: [Input(d, "design.toml") for d in seeds.designs], (*BY_TEXT, *m.TOML, *m.TOML), _read_design
    ),
    Kind("sql", lambda seeds: [one for d in seeds.designs for one in _sql(d)], BY_TEXT, _read_design),
    Kind(
        "command line", lambda seeds: _of(seeds.commands, "*.txt"), (*m.BYTES, *m.LINES * 4), _read_command, spoils_places=False
    ),
    Kind("spec", lambda seeds: _of(seeds.specs, "*.spec"), BY_TEXT, _read_spec),
    Kind("tape", lambda seeds: _of(seeds.run, "tape.json"), (*m.BYTES, *m.LINES, *m.JSON, *m.JSON, *m.JSON), _read_run),
    Kind(
        "run folder",
        lambda seeds: (
            _of(seeds.run, "run.json") * 5 + _of(seeds.run, "*.json", "events/*", "final/*", "*.parquet", "*.jsonl", "run.lock")
        ),
        (*m.BYTES, *m.LINES, *m.JSON, *m.JSON, *m.JSON),
        _read_run,
    ),
    Kind(
        "sealed file",
        lambda seeds: _of(seeds.run, "names.json", "events/*", "final/*"),
        (*m.BYTES, *m.JSON, *(parquet_changed,) * 25),
        _read_again_sealed,
        spoils_places=False,
    ),
    Kind(
        "journal",
        lambda seeds: (
            _of(seeds.unsealed, "events/journal") * 3
            + _of(seeds.unsealed, "final/rows.json", "run.json")
            + _of(seeds.interrupted, "events/journal")
        ),
        (*m.BYTES, *m.LINES, *(m.json_line,) * 20),
        _analyze,
    ),
    Kind(
        "campaign",
        lambda seeds: [
            one
            for folder in (seeds.campaign, seeds.half_campaign)
            for one in _of(folder, "run.json") * 6
            + _of(folder, "schedules-*.jsonl") * 4
            + _of(folder, "campaign.json", "seal.json", "findings/*/*.json")
        ],
        (*m.BYTES, *m.LINES, *m.JSON, *m.JSON, *(m.json_line,) * 12),
        _read_campaign,
    ),
    Kind("design played", lambda seeds: _sql(ROOT / "sql/reference"), m.LINES, _play, spoils_places=False, played=True),
    Kind(
        "tape played",
        lambda seeds: _of(seeds.run, "tape.json"),
        (*m.LINES, *m.JSON),
        _play_tape,
        spoils_places=False,
        played=True,
    ),
    Kind(
        "workload played",
        lambda seeds: _of(seeds.workloads, "*.toml"),
        (*m.LINES, *m.TOML),
        _play_workload,
        spoils_places=False,
        played=True,
    ),
    Kind("acceptance", _acceptance, (*m.BYTES, *m.LINES, *m.JSON, *m.JSON, *m.JSON), _read_acceptance),
)


def _sql(design: Path) -> list[Input]:
    return [Input(design, name) for name in _files(design, "*.sql")]


def placed(file: Path, chance: Random) -> None:
    """Put something else in a file's place: nothing, a folder, a link that leads nowhere, in a circle or to a folder."""
    file.unlink()
    match chance.choice(("nothing", "folder", "nowhere", "circle", "to a folder", "device", "pipe", "closed")):
        case "folder":
            file.mkdir()
        case "nowhere":
            file.symlink_to("nowhere")
        case "circle":
            file.symlink_to(file.name)
        case "to a folder":
            file.symlink_to("/")
        case "device":
            file.symlink_to("/dev/null")
        case "pipe":
            os.mkfifo(file)
        case "closed":
            file.write_text("")
            file.chmod(0)


def spoilt(one: Input, ways: Sequence[m.Mutation | None], places: Sequence[int], scratch: Path) -> tuple[Path, Path]:
    """Copy an input's folder and spoil its file. A way of None is another thing in its place."""
    folder = scratch / "broken"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(one.folder, folder, symlinks=True)
    file = folder / one.file
    for way, place in zip(ways, places, strict=True):
        chance = Random(place)
        if way is None:
            placed(file, chance)
            break
        file.write_bytes(way(file.read_bytes(), chance))
    return folder, file
