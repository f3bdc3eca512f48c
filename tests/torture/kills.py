"""One kill: a command, a moment, a signal, and the look at what is left."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from simrunner.store.folder import RunFolder
from tests.cli.invoking import CLEARED, Ended, ended
from tests.torture.lab import Lab, Started, wait_for
from tests.torture.subjects import Subject, Wrong, opened

LAST_WORDS = "WARNING:  terminating connection due to immediate shutdown command"
"""The server's, which libpq prints for a connection that is just being made."""
STRUCK = (signal.SIGKILL, signal.SIGQUIT)


@dataclass(slots=True)
class Tally:
    """What the kills of one kind have shown."""

    kills: int = 0
    folders: int = 0
    opened: int = 0
    cleared: int = 0
    """Kills after which the next command had something to clear, and said so."""
    leftovers: int = 0
    wrong: int = 0
    lost: int = 0
    troubles: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        """Every folder opened, and nothing was left, wrong or lost."""
        return self.opened == self.folders and not (self.leftovers or self.wrong or self.lost)


@dataclass(slots=True)
class Kill:
    """One attempt. Everything that is chosen follows from its seed."""

    lab: Lab
    subject: Subject
    seed: str

    def strike_coordinator(self, tally: Tally) -> bool:
        """Kill the command. False: it had ended before its moment came."""
        chance = random.Random(self.seed)
        process = self._begin(chance, fresh=chance.random() < 0.1)
        group = chance.random() < 0.3
        moment = self._moment(chance)
        alive = moment(process)
        acknowledged = self._acknowledged()
        if alive:
            _kill(process, group=group)
        told = ended(process)
        if told.code != -signal.SIGKILL:
            return False
        tally.kills += 1
        self._look(tally, acknowledged)
        return True

    def strike_server(self, tally: Tally) -> bool:
        """Kill a server of the command, which ends by itself then. False: it had ended before."""
        chance = random.Random(self.seed)
        process = self._begin(chance, fresh=False)
        number, far = chance.choice(STRUCK), chance.uniform(0, 1)
        at_start = chance.random() < 0.2
        wait_for(process, lambda: bool(self.lab.postmasters()) and (at_start or self._progress() >= far))
        acknowledged, servers = self._acknowledged(), self.lab.postmasters()
        if servers:
            with suppress(ProcessLookupError):
                os.kill(chance.choice(servers), number)
        told = ended(process)
        if not servers:
            return False
        tally.kills += 1
        self._check_told(tally, told)
        self._look(tally, acknowledged)
        return True

    def _begin(self, chance: random.Random, *, fresh: bool) -> Started:
        self.lab.clear_results()
        if fresh:  # then the moment may lie in the making of the cluster
            shutil.rmtree(self.lab.cache / "simrunner", ignore_errors=True)
        return self.lab.start(*self.subject.words())

    def _moment(self, chance: random.Random) -> Callable[[Started], bool]:
        """Wait for a moment of the command's life. It is False if the command ended before."""
        far, later = chance.uniform(0, 1), chance.uniform(0, 0.03)
        milestones: list[Callable[[], bool]] = [
            lambda: True,
            lambda: any(self.lab.cache.glob("simrunner/pg*/*/lock")),
            lambda: any(self.lab.cache.glob("simrunner/pg*/*/socket")),
            self.lab.results.exists,
            *[lambda: self._progress() >= far] * 6,
            *[lambda: self._progress() > 1] * 2,
        ]
        reached = chance.choice(milestones)
        pause = chance.uniform(0, 1.0) if reached is milestones[0] else later

        def wait(process: Started) -> bool:
            alive = wait_for(process, reached)
            time.sleep(pause)
            return alive

        return wait

    def _progress(self) -> float:
        folder = self.lab.latest
        return -1.0 if folder is None else self.subject.progress(folder)

    def _acknowledged(self) -> tuple[Path, bytes] | None:
        folder = self.lab.latest
        return None if folder is None else (folder, self.subject.acknowledged(folder))

    def _check_told(self, tally: Tally, told: Ended) -> None:
        """A command whose server was killed ends as one whose server failed, or had ended already."""
        words = told.err.lstrip().removeprefix(LAST_WORDS).lstrip()
        if told.code not in (0, 4) or (told.code == 4 and not words.startswith(("Error: ", "an actor ended: "))):
            self._trouble(tally, f"it ended with {told.code}: {told.err}")
            tally.wrong += 1

    def _look(self, tally: Tally, acknowledged: tuple[Path, bytes] | None) -> None:
        stayed = self.lab.wait_until_gone()
        folder = self.lab.latest
        if acknowledged is not None or folder is not None:
            self._open(tally, folder, acknowledged)
        remains = [*map(str, stayed.values()), *self.lab.remains()]
        told = self.lab.run(*self.subject.next_words(folder))
        try:
            self.subject.check_next(self.lab, told)
        except Wrong as wrong:
            self._trouble(tally, str(wrong))
            tally.wrong += 1
        said = CLEARED in told.err
        tally.cleared += said
        if left := [*self.lab.left(), *([f"{remains}, and nothing was said"] if remains and not said else [])]:
            self._trouble(tally, f"left behind: {left}")
            tally.leftovers += 1
        if reports := self.lab.bug_reports():
            self._trouble(tally, "".join(reports))
            shutil.rmtree(self.lab.place / "reports")
            (self.lab.place / "reports").mkdir()

    def _open(self, tally: Tally, folder: Path | None, acknowledged: tuple[Path, bytes] | None) -> None:
        tally.folders += 1
        if folder is None:
            self._trouble(tally, "its folder is gone")
            return
        try:
            status = RunFolder.open(folder).status()
            _, document = opened(folder)
            tally.opened += 1
            self.subject.check_opened(document, status)
        except Wrong as wrong:
            self._trouble(tally, str(wrong))
            tally.wrong += 1
            return
        lost = 0 if acknowledged is None else self.subject.lost(*acknowledged)
        if lost:
            self._trouble(tally, f"{lost} acknowledged events are not there")
        tally.lost += lost

    def _trouble(self, tally: Tally, words: str) -> None:
        tally.troubles.append(f"{self.subject.name}, kill {self.seed}: {words}")


def _kill(process: Started, *, group: bool) -> None:
    with suppress(ProcessLookupError):
        (os.killpg if group else os.kill)(process.pid, signal.SIGKILL)
