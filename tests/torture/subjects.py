"""The commands that are killed: how far they are, what they have acknowledged, and what must be true of them afterwards."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow.parquet as pq

from simrunner.history.schema import SCHEMA
from simrunner.store.schedules import results_in
from tests.cli.invoking import Ended, invoke
from tests.torture.lab import Lab

SMALL = ("--set", "jobs=2", "--set", "safety.rounds=1")
SCHEDULES = 12


class Wrong(Exception):
    """A command said something that is not true."""


class Subject(Protocol):
    """A command that is killed, and the one that comes after it."""

    @property
    def name(self) -> str:
        """What it is called in reports."""

    def words(self) -> tuple[str, ...]:
        """The command."""

    def progress(self, folder: Path) -> float:
        """How far it is: below 1 while it runs, above once it only puts its folder in order."""

    def acknowledged(self, folder: Path) -> bytes:
        """What must not be lost any more."""

    def lost(self, folder: Path, acknowledged: bytes) -> int:
        """How much of that is not there."""

    def check_opened(self, document: dict[str, Any], status: str) -> None:
        """Look at what `analyze` tells. Raises Wrong."""

    def next_words(self, folder: Path | None) -> tuple[str, ...]:
        """The command that comes after it."""

    def check_next(self, lab: Lab, ended: Ended) -> None:
        """The next command must have told what an undisturbed one does. Raises Wrong."""


@dataclass(slots=True)
class Run:
    """`simrunner run smoke`. What comes next is the same, undisturbed."""

    mode: str
    sha256: str
    """Of an undisturbed stepped run with the same seed."""
    events: int
    """Of an undisturbed run."""

    @property
    def name(self) -> str:
        return f"run, {self.mode}"

    def words(self) -> tuple[str, ...]:
        return ("run", "smoke", "--mode", self.mode, "--set", "liveness.rounds=30")

    def progress(self, folder: Path) -> float:
        if (folder / "final/rows.json").exists() or not (folder / "events/journal").exists():
            return 2.0
        return min(0.99, len(_events(self.acknowledged(folder))) / self.events)

    def acknowledged(self, folder: Path) -> bytes:
        try:
            return (folder / "events/journal").read_bytes()
        except FileNotFoundError:  # it was sealed: then everything must be there
            return b""

    def lost(self, folder: Path, acknowledged: bytes) -> int:
        stored = _stored_events(folder)
        told = _events(acknowledged)
        return sum(1 for number, event in enumerate(told) if number >= len(stored) or stored[number] != event)

    def check_opened(self, document: dict[str, Any], status: str) -> None:
        if status not in ("complete", "interrupted", "failed") or document["status"] != status:
            raise Wrong(f"its status is {status}, and analyze says {document['status']}")
        if document["verdict"] == "violated" or (document["verdict"] == "valid" and status != "complete"):
            raise Wrong(f"{document['verdict']}, although it is {status}")
        if status == "complete" and self.mode == "stepped" and document["history_sha256"] != self.sha256:
            raise Wrong("it is complete with another history")

    def next_words(self, folder: Path | None) -> tuple[str, ...]:
        return ("run", "smoke", "--set", "liveness.rounds=30", "--json")

    def check_next(self, lab: Lab, ended: Ended) -> None:
        if ended.code != 0:
            raise Wrong(f"the next run ended with {ended.code}: {ended.err}")
        document = ended.json()
        if (document["verdict"], document["history_sha256"]) != ("valid", self.sha256):
            raise Wrong(f"the next run was {document['verdict']} with the history {document['history_sha256']}")


@dataclass(slots=True)
class Explore:
    """`simrunner explore smoke --jobs 2`. What comes next resumes it."""

    identities: list[tuple[int, str, str]]
    """(schedule, history, verdict) of an undisturbed campaign."""
    name: str = "explore --jobs 2"

    def words(self) -> tuple[str, ...]:
        return ("explore", "smoke", "--schedules", str(SCHEDULES), "--jobs", "2", *SMALL)

    def progress(self, folder: Path) -> float:
        finished = self.acknowledged(folder).count(b"\n")
        return 2.0 if finished == SCHEDULES else finished / SCHEDULES

    def acknowledged(self, folder: Path) -> bytes:
        return b"".join(_whole(path.read_bytes()) for path in sorted(folder.glob("schedules-*.jsonl")))

    def lost(self, folder: Path, acknowledged: bytes) -> int:
        now = self.acknowledged(folder).splitlines()
        return sum(1 for line in acknowledged.splitlines() if line not in now)

    def check_opened(self, document: dict[str, Any], status: str) -> None:
        if status not in ("complete", "interrupted", "failed"):
            raise Wrong(f"its status is {status}")
        if document["findings"] or (document["verdict"] == "valid" and document["schedules"] != SCHEDULES):
            raise Wrong(f"{document['verdict']} after {document['schedules']} schedules, {document['findings']}")

    def next_words(self, folder: Path | None) -> tuple[str, ...]:
        return self.words() if folder is None else ("explore", "--resume", str(folder))

    def check_next(self, lab: Lab, ended: Ended) -> None:
        if ended.code != 0 or lab.latest is None:
            raise Wrong(f"the next campaign ended with {ended.code}: {ended.err}")
        if identities_in(lab.latest) != self.identities:
            raise Wrong("the campaign has other histories")


def identities_in(folder: Path) -> list[tuple[int, str, str]]:
    """What the schedules of a campaign are, by number."""
    return [(one.schedule, one.sha256, one.verdict) for one in results_in(folder)]


def undisturbed(lab: Lab) -> dict[str, Subject]:
    """Run everything once in peace, for comparison."""
    stepped = lab.run(*Run("stepped", "", 1).next_words(None))
    assert stepped.code == 0, stepped.err
    explored = lab.run(*Explore([]).words())
    assert explored.code == 0, explored.err
    assert lab.latest is not None
    sha256, events = stepped.json()["history_sha256"], stepped.json()["events"]
    return {
        "stepped": Run("stepped", sha256, events),
        "rounds": Run("rounds", sha256, events),
        "explore": Explore(identities_in(lab.latest)),
    }


def opened(folder: Path) -> tuple[int, dict[str, Any]]:
    """Open a folder with `analyze`. Raises Wrong."""
    result = invoke("analyze", folder, "--json")
    if result.exit_code not in (0, 3):
        raise Wrong(f"analyze ended with {result.exit_code}: {result.output}")
    document: dict[str, Any] = json.loads(result.stdout)
    return result.exit_code, document


def _whole(data: bytes) -> bytes:
    return data[: data.rfind(b"\n") + 1]


def _events(journal: bytes) -> list[list[Any]]:
    return [json.loads(line) for line in _whole(journal).splitlines() if line.startswith(b"[")]


def _stored_events(folder: Path) -> list[list[Any]]:
    """All events of a sealed run, as the journal would have them."""
    import pyarrow as pa

    table = pa.concat_tables([pq.read_table(path) for path in sorted((folder / "events").glob("part-*.parquet"))])
    columns = []
    for name in SCHEMA.names:
        column = table.column(name)
        plain = column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
        columns.append(plain.to_pylist())
    return [list(row) for row in zip(*columns, strict=True)]
