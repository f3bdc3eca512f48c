"""Gives the commands of an exported case to real psql processes, as a person with a few terminals would."""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import psycopg

_TITLE = re.compile(r"^-- == terminal \d+: (.+?)(?:, (.+))?$")
_DEADLINE_SECONDS = 30


class Block(NamedTuple):
    """Commands for one terminal."""

    terminal: str
    text: str


def blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of an exported case."""
    name: str | None = None
    lines: list[str] = []
    for line in text.splitlines():
        title = _TITLE.match(line)
        if title:
            if name is not None:
                yield Block(name, "\n".join(lines))
            name, lines = title[1], []
        lines.append(line)
    if name is not None:
        yield Block(name, "\n".join(lines))


class Terminal:
    """One psql."""

    def __init__(self, psql: Path, dsn: str) -> None:
        command = [str(psql), "-X", "-A", "-q", "-v", "ON_ERROR_STOP=0", "-d", dsn]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1
        )
        self.lines: list[str] = []
        self._asked = 0
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def give(self, text: str) -> None:
        """Type commands, and a line by which their end is known."""
        self._asked += 1
        assert self._process.stdin is not None
        self._process.stdin.write(f"{text}\n\\echo END-{self._asked}\n")
        self._process.stdin.flush()

    def has_ended(self) -> bool:
        """Whether all commands have ended."""
        return f"END-{self._asked}" in self.lines or not self._asked

    def kill(self) -> None:
        """SIGKILL it."""
        self._process.kill()
        self._reader.join()
        with suppress(BrokenPipeError):
            self._process.communicate()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line.rstrip("\n"))


class Desk:
    """The terminals of a case, and an observer that knows who waits."""

    def __init__(self, psql: Path, dsn: str) -> None:
        self._psql, self._dsn = psql, dsn
        self.terminals: dict[str, Terminal] = {}

    def play(self, text: str) -> list[str]:
        """Give all commands in order. Returns what the observer's terminal said to the last of them."""
        with psycopg.connect(self._dsn, autocommit=True) as look:
            for block in blocks(text):
                self._play(block, look)
        return self.terminals["observer"].lines[:-1]

    def close(self) -> None:
        """Kill what is left."""
        for terminal in self.terminals.values():
            terminal.kill()

    def _play(self, block: Block, look: psycopg.Connection) -> None:
        if "-- KILL this psql" in block.text:
            self.terminals.pop(block.terminal).kill()
            return
        if block.terminal not in self.terminals:
            self.terminals[block.terminal] = Terminal(self._psql, self._dsn)
        terminal = self.terminals[block.terminal]
        if block.terminal == "observer":
            terminal.lines.clear()
        terminal.give(block.text)
        until = monotonic() + _DEADLINE_SECONDS
        while not self._is_settled(look, waits="-- WAITS for" in block.text, terminal=terminal):
            assert monotonic() < until, f"{block.terminal} neither ended nor waits: {terminal.lines[-5:]}"

    def _is_settled(self, look: psycopg.Connection, *, waits: bool, terminal: Terminal) -> bool:
        blocked = "SELECT count(*) FROM pg_stat_activity WHERE cardinality(pg_blocking_pids(pid)) > 0"
        row = look.execute(blocked).fetchone()
        busy = sum(1 for one in self.terminals.values() if not one.has_ended())
        return row is not None and row[0] == busy and (terminal.has_ended() is not waits)
