"""Runs for the tests of the runtime: a workload against a design in a given database, and what it left."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from simrunner.analysis.certificate import certify
from simrunner.analysis.judge import judge
from simrunner.config import load_design, load_workload
from simrunner.history.digest import history_sha256
from simrunner.history.history import History
from simrunner.model.event import Event
from simrunner.model.tape import Decision
from simrunner.model.verdict import RunVerdict
from simrunner.model.workload import Workload
from simrunner.runtime import libpq
from simrunner.runtime.coordinator import Request, Watcher, execute
from simrunner.runtime.database import Database
from simrunner.store.context import context_document
from simrunner.store.folder import RunFolder
from simrunner.store.journal import JOURNAL, Recorded, stream_journal
from simrunner.store.reader import Loaded, load

STARTED = datetime(2026, 9, 22, tzinfo=UTC)
FAULTS = '[[faults]]\nkind = "kill"\ncrash_point = "after-commit"\n'
"""The faults of `smoke`."""
ROOT = Path(__file__).parent.parent.parent


def nobody(*_: object) -> None:
    """Do not watch."""


QUIET = Watcher(nobody, nobody, nobody)


@dataclass(frozen=True)
class Run:
    """A run that has ended."""

    workload: Workload
    folder: RunFolder
    stored: Loaded

    @property
    def events(self) -> list[Event]:
        return self.stored.events

    @property
    def sha256(self) -> str:
        return history_sha256(self.events)

    def of(self, kind: str, **columns: object) -> list[Event]:
        """Events of a kind whose columns have the given values."""
        return [
            event
            for event in self.events
            if event.kind == kind and all(getattr(event, name) == value for name, value in columns.items())
        ]

    def decisions(self) -> list[Decision]:
        """The tape."""
        return decisions_of(self.folder)

    def verdict(self) -> RunVerdict:
        history, workload = History(*self.stored), self.workload
        lines = certify(history, workers=workload.actors.workers, faults=workload.faults, min_backlog=workload.min_backlog)
        return judge(history, workload.judges, workload.must_exercise, lines)


def decisions_of(folder: RunFolder) -> list[Decision]:
    recorded = Recorded()
    for _ in stream_journal(folder.path / JOURNAL, recorded):
        pass
    return recorded.decisions


def request(
    workload: str | Path,
    design: str | Path = "reference",
    *,
    seed: int = 1,
    settings: Mapping[str, str] = {},
    mode: str = "stepped",
    strategy: str = "random",
    decisions: Sequence[Decision] | None = None,
    reuse: bool = False,
) -> Request:
    return Request(
        design=load_design(str(design)),
        workload=load_workload(str(workload), settings),
        seed=seed,
        mode=mode,
        strategy=strategy,
        decisions=decisions,
        reuse=reuse,
    )


def new_folder(results: Path, wanted: Request) -> RunFolder:
    folder = RunFolder.create(results, wanted.workload.name, wanted.design.name, wanted.seed, STARTED)
    folder.update_run(context=context_document(wanted.design, wanted.workload, wanted.mode))
    return folder


def run(database: Database, results: Path, wanted: Request, watcher: Watcher = QUIET) -> Run:
    """Execute a request and read back what it left."""
    with new_folder(results, wanted) as folder:
        execute(wanted, folder, database, watcher)
        return Run(wanted.workload, folder, load(folder))


def pacing(pace: Callable[[], None]) -> Watcher:
    """A watcher that only paces."""
    return Watcher(nobody, nobody, pace)


def design_folder(tmp_path: Path, files: Mapping[str, str], toml: str = "", extends: str = "reference") -> Path:
    """A design that differs from a shipped one: its own files, and lines of its design.toml."""
    folder = tmp_path / "design"
    folder.mkdir(exist_ok=True)
    base = ROOT / "sql" / extends
    head = f'extends = "{base}"\ntitle = "of a test"\norigin = "a test"\n'
    (folder / "design.toml").write_text(head + toml)
    for name, text in files.items():
        (folder / f"{name}.sql").write_text(text)
    return folder


def workload_file(tmp_path: Path, base: str, changes: Iterable[tuple[str, str]] = (), more: str = "") -> Path:
    """A workload that differs from a shipped one by replaced texts and by tables at its end."""
    text = (ROOT / "workloads" / f"{base}.toml").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / f"{base}-changed.toml"
    path.write_text(text + more)
    return path


def script_file(tmp_path: Path, *steps: str, jobs: int = 3) -> Path:
    """A scripted workload; a step is `worker-a amend job=1` or, of the coordinator, `- advance ms=5`."""
    head = f'title = "t"\nquestion = "q"\n[fixture]\njobs = {jobs}\n[policy]\nlease_ms = 15000\n'
    lines = [head + '[judge]\njudges = ["claim-order"]\n']
    for step in steps:
        actor, do, *rest = step.split()
        pairs = [one.split("=") for one in rest]
        settings = [f"{key} = {value if key in ('ms', 'times', 'priority') else repr(value)}" for key, value in pairs]
        named = [] if actor == "-" else [f"actor = {actor!r}"]
        lines.append("\n".join(["[[script]]", f"do = {do!r}", *named, *settings]) + "\n")
    path = tmp_path / "script.toml"
    path.write_text("\n".join(lines))
    return path


def backends(database: Database) -> list[str]:
    """Application names of the sessions of actors that are still in the database."""
    connection = libpq.connect(database.conninfo("look"))
    reply = libpq.run(
        connection,
        "SELECT application_name FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )
    connection.finish()
    return [row[0] or "" for row in reply.rows]
