"""What is spoilt: the shipped files, and folders that real commands left."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.cli.accepting import accept
from tests.cli.invoking import program
from tests.cli.stored import stored, unfenced
from tests.runtime.runs import ROOT

FAILING = "mutants/claim-outside-order"
"""A design of which a few schedules suffice to find a violation."""

COMMANDS = (
    "run smoke --design reference --seed 7 --mode stepped --strategy pct --set jobs=3 --set judges=claim-order --pace 0.5",
    "run smoke --postgres 18 --results results --json",
    "run ordering-mutable --set script.0.do=claim --set title=x --set faults.0.kind=kill --mode rounds",
    "accept --design variants/lock-only --seed 3 --results results --json",
    "analyze results/latest --json",
    "replay results/latest --results results --json",
    "explore smoke --design reference --strategy exhaustive --depth 3 --delays 2 --kills 1 --schedules 10 --seconds 1.5",
    "explore --resume results/latest --jobs 2 --recovery --recheck --stop-at-first",
    "shrink results/latest --seconds 5 --json",
    "export results/latest --to spec",
    "kill worker-a --run results/latest",
    "list designs --json",
    "doctor --design reference --json",
    "show claim-order",
    "show smoke.toml",
    "spec some.spec --postgres 16",
)


@dataclass(frozen=True)
class Seeds:
    """Folders in a place of their own; those of real commands are made when they are first asked for."""

    home: Path

    @cached_property
    def workloads(self) -> Path:
        """The shipped workloads."""
        return ROOT / "workloads"

    @cached_property
    def designs(self) -> list[Path]:
        """The shipped designs."""
        return sorted(file.parent for file in (ROOT / "sql").rglob("design.toml"))

    @cached_property
    def specs(self) -> Path:
        """Specs of the tests of the isolation tester."""
        return ROOT / "tests/spec/specs"

    @cached_property
    def commands(self) -> Path:
        """Command lines, a file each and a word a line."""
        folder = self.home / "commands"
        folder.mkdir()
        for number, words in enumerate(COMMANDS):
            (folder / f"{number}.txt").write_text("".join(f"{word}\n" for word in words.split(" ")))
        return folder

    @cached_property
    def run(self) -> Path:
        """A sealed run that violates something, with what a shrink has left in it."""
        ended = program("run", "smoke", "--design", FAILING, "--seed", "2", cwd=self.home)
        assert ended.code == 1, ended
        folder = (self.home / "results/smoke/latest").resolve()
        assert program("shrink", folder, "--seconds", "2", cwd=self.home).code == 0
        return folder

    @cached_property
    def unsealed(self) -> Path:
        """A run as its coordinator leaves it: a journal and the final rows."""
        return stored(self.home / "unsealed", unfenced(), sealed=False)

    @cached_property
    def interrupted(self) -> Path:
        """A run that was killed: a journal and no final rows."""
        return stored(self.home / "interrupted", unfenced(), sealed=False, complete=False)

    @cached_property
    def campaign(self) -> Path:
        """A campaign with a finding."""
        ended = program("explore", "smoke", "--design", FAILING, "--schedules", "12", cwd=self.home)
        assert ended.code == 1, ended
        return (self.home / "results/explore/latest").resolve()

    @cached_property
    def half_campaign(self) -> Path:
        """The same, as if it had been killed: it can go on."""
        half = self.home / "half"
        shutil.copytree(self.campaign, half)
        text = (half / "run.json").read_text()
        (half / "run.json").write_text(text.replace('"status": "complete"', '"status": "interrupted"'))
        return half

    @cached_property
    def acceptance(self) -> Path:
        """An acceptance by one experiment."""
        assert accept("reference", self.home / "accepted", "claim-boundary").code == 3
        return (self.home / "accepted/latest").resolve()
