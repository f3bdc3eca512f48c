"""What runs of one design share: a database in which it is installed, the observer, and processes that play its actors.

A process is kept after a run and gets another role in the next; only killed ones are replaced. So a schedule costs its steps and
not its forks.
"""

from __future__ import annotations

import multiprocessing
import re
from multiprocessing.synchronize import Barrier

from simrunner.errors import ServerError
from simrunner.limits import LIMITS
from simrunner.model.design import Design
from simrunner.model.workload import Workload
from simrunner.runtime import libpq, process, setup
from simrunner.runtime.database import Database
from simrunner.runtime.emptying import Emptier
from simrunner.runtime.holding import signals_held
from simrunner.runtime.nursery import Nursery
from simrunner.runtime.observer import Observer
from simrunner.runtime.process import HandSpec, Process
from simrunner.runtime.processors import Gathering
from simrunner.runtime.truth import TruthReader


class Stage:
    """A database and processes for the runs of one design and one workload, one run at a time.

    `reuse`: the design was installed in the database before. `keep`: processes are kept for the next run, unless their sessions
    may hold locks, or the next role might need other connections.
    `coalesce`: BEGIN and local actions are no steps of their own.
    Raises DesignError for SQL that the server refuses, ServerError.
    """

    def __init__(
        self,
        database: Database,
        design: Design,
        workload: Workload,
        *,
        concurrent: bool = False,
        reuse: bool = False,
        keep: bool = False,
        coalesce: bool = False,
    ) -> None:
        self.database = database
        self.design = design
        self.workload = workload
        self._gathering = None if concurrent else Gathering(database.cluster)
        self.is_used = False
        """A run has begun since the first state or the last reset."""
        self._keep = keep and not design.connections and not _leaves_locks(design)
        self._idle: list[Process] = []
        self._emptier: Emptier | None = None
        self._has_crashed = False
        if reuse and workload.counts_buffers:
            database.recreate()
        self._open(reuse=reuse and not workload.counts_buffers)
        self.barriers = _barriers(workload) if concurrent else ()
        conninfo = database.conninfo("actor")
        self._nursery = Nursery(
            HandSpec(conninfo, design, workload, database.superuser, self.barriers, coalesce, self._gathering)
        )

    def _open(self, *, reuse: bool) -> None:
        self._connect()
        try:
            seeded = self._refilled(fresh=True) if reuse else setup.install(self.session, self.design, self.workload)
            self._look()
            self._know(seeded)
        except BaseException:
            self._end()
            raise

    def _connect(self) -> None:
        try:
            self.session = libpq.connect(self.database.conninfo("observer"))
        except ServerError:
            self._dissolve()
            raise
        setup.set_clock(self.session)
        if self._gathering is not None:
            self._gathering.join(0, self.session.backend_pid)

    def _look(self) -> None:
        self.observer = Observer(self.session, self.design)
        self.observer.prepare()
        self.truth = TruthReader(self.session)

    def crash(self) -> None:
        """Crash the server in the middle of a run, start it again and look at it anew. Raises ServerError.

        A crash leaves its traces in the pages of the tables: the next run has a new database.
        """
        crash = self.database.cluster.crash
        if crash is None:
            raise ServerError("only a server of simrunner's own can be crashed")
        self._forget_processes()
        self._forget_sessions()
        if self._gathering is not None:
            self._gathering.leave()  # the server that is started now is to be free to go anywhere
        crash()
        self._has_crashed = True
        self._connect()
        self._look()

    def reset(self, *, fresh: bool = True) -> None:
        """Bring the database back to the state in which a run begins. Raises ServerError.

        Not `fresh`: dead rows may be left; then `is_sure` says afterwards whether that made no difference. Where buffers are
        counted a run has a new database and new sessions, as after a crash: an old one has read what a new one has to read.
        """
        if self._has_crashed or self.workload.counts_buffers:
            self._forget_processes()
            self._forget_sessions()
            self._has_crashed = False
            self.database.recreate()
            self._open(reuse=False)
        else:
            self._know(self._refilled(fresh=fresh))
        self.is_used = False

    def is_sure(self) -> bool:
        """Whether the run since the last reset has gone as it would have gone on fresh tables. Raises ServerError."""
        return self._emptier is None or self._emptier.is_sure()

    def stock(self, spares: int) -> None:
        """Fork processes ahead of need until there are so many idle ones."""
        for _ in range(spares - len(self._idle) - self._nursery.asked):
            self._nursery.ask()

    def cast(self) -> Process:
        """Return a process that rests and takes the role that its next order names."""
        self.is_used = True
        if self._emptier is None or not self._emptier.keeps_rows:
            while self._nursery.asked:  # a session that begins has a snapshot, which keeps others from cleaning up meanwhile
                self._idle.append(self._arrived())
        one = self._idle.pop() if self._idle else self._arrived()
        if self._gathering is not None:
            self._gathering.join(one.pid, *one.backends)
        return one

    def dismiss(self, one: Process) -> str:
        """Take a process back that rests between two rounds. Returns how it ended, as the history tells it."""
        if self._keep and all(one.backends):
            self._idle.append(one)
            return "exit"
        return process.dismiss(one)

    def close(self) -> None:
        """End the idle processes and the observer's session."""
        with signals_held():
            self._forget_processes()
            self._nursery.close()
            self._end()

    def _forget_processes(self) -> None:
        self._nursery.drop()
        for one in self._idle:
            process.kill(one)
            one.gate.close()
        self._idle = []

    def _forget_sessions(self) -> None:
        self.session.finish()
        if self._emptier is not None:
            self._emptier.close()
            self._emptier = None

    def _end(self) -> None:
        self._forget_sessions()
        self._dissolve()

    def _dissolve(self) -> None:
        if self._gathering is not None:
            self._gathering.dissolve()

    def _refilled(self, *, fresh: bool) -> tuple[str, ...] | None:
        if self._emptier is None:
            self._emptier = Emptier(self.database)
            if self._gathering is not None:
                self._gathering.join(self._emptier.backend_pid)
        self._emptier.empty(fresh=fresh)
        return setup.fill(self.session, self.design, self.workload)

    def _know(self, seeded: tuple[str, ...] | None) -> None:
        self.fixture = self.observer.all_jobs()
        self.seeded = tuple(row.job for row in self.fixture) if seeded is None else seeded

    def _arrived(self) -> Process:
        if not self._nursery.asked:
            self._nursery.ask()
        one = self._nursery.take()
        if not one.gate.wait(LIMITS.step_seconds * 1000):
            process.kill(one)
            raise ServerError(f"an actor did not connect within {LIMITS.step_seconds:.0f} s")
        report = one.gate.receive()
        if report is None:
            raise ServerError(f"an actor ended before it was connected ({process.reap(one)}); its reason stands above")
        return one._replace(backends=report.backends)


_SESSION_LOCK = re.compile(r"\bpg_(try_)?advisory_lock(_shared)?\b", re.IGNORECASE)


def _leaves_locks(design: Design) -> bool:
    """Whether sessions may hold advisory locks beyond their transactions: the next run must not find them."""
    return any(_SESSION_LOCK.search(source.text) for source in design.operations.values())


def _barriers(workload: Workload) -> tuple[Barrier, ...]:
    forking = multiprocessing.get_context("fork")  # with another their semaphores had names, and would outlive a kill -9
    return tuple(forking.Barrier(workload.actors.workers) for _ in range(LIMITS.barriers))
