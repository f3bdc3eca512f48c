"""Actors as processes: fork, die with the coordinator, be killed, be reaped.

The coordinator never imports numpy, pandas or pyarrow (their threads do not survive a fork) and has one thread: the parent
death signal of prctl(2) is tied to the thread that forked.
"""

from __future__ import annotations

import ctypes
import gc
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.synchronize import Barrier
from pathlib import Path
from time import monotonic
from typing import NamedTuple, NoReturn

from psycopg.pq.abc import PGconn

from simrunner.errors import ServerError, StepStuck
from simrunner.limits import LIMITS
from simrunner.model.design import Design
from simrunner.model.draws import stream_of
from simrunner.model.workload import Workload
from simrunner.runtime import clock, libpq
from simrunner.runtime.client import Client
from simrunner.runtime.gate import ActorGate, Gate, Terminated
from simrunner.runtime.holding import ENDING
from simrunner.runtime.messages import BARRIER, EXIT, ROUND, Intent, Order, Role
from simrunner.runtime.processors import Gathering
from simrunner.runtime.programs import OF_WORKERS, perform, program_of
from simrunner.runtime.session import Session

_PR_SET_PDEATHSIG = 1
_STAT_BYTES = 1024
_AGAIN_MS = 10.0
"""After so long a signal that was not heeded is sent again."""
_LOOK_MS = 20.0
"""An actor that was told to end is waited for so long before it is continued, lest it was stopped."""
_libc = ctypes.CDLL(None, use_errno=True)


class HandSpec(NamedTuple):
    """All that a process needs to play any actor of a run; it reaches the child through the fork."""

    conninfo: str
    design: Design
    workload: Workload
    superuser: bool
    barriers: tuple[Barrier, ...] = ()
    coalesce: bool = False
    """BEGIN and local actions are no steps of their own."""
    gathering: Gathering | None = None
    """Of the coordinator's processor; an actor gets ready on any, beside the steps that go on meanwhile."""


class Process(NamedTuple):
    """A running process, as the coordinator holds it."""

    pid: int
    started: int
    """Start time in clock ticks since boot: tells this process from a later one with the same pid."""
    gate: Gate
    backends: tuple[int, ...] = ()
    """Of its connections, 0 for one whose session has ended; none: it has not reported yet that it is connected."""


def kill(process: Process) -> str:
    """SIGKILL an actor and reap it. Returns how it ended."""
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)
    return reap(process)


def terminate(process: Process) -> None:
    """SIGTERM an actor; returns when it has heeded that at its gate, or is dead. Raises StepStuck.

    A signal that comes just before a process goes to sleep does not wake it, so it is sent until it is heeded.
    """
    deadline = monotonic() + LIMITS.step_seconds
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGTERM)
        while not process.gate.wait(_AGAIN_MS):
            os.kill(process.pid, signal.SIGTERM)
            if monotonic() > deadline:
                raise StepStuck(f"process {process.pid} does not heed SIGTERM within {LIMITS.step_seconds:.0f} s")


def pause(process: Process) -> None:
    """SIGSTOP an actor; returns when it has stopped, or has died meanwhile."""
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)


def resume(process: Process) -> None:
    """SIGCONT an actor; returns when it goes on, or has died meanwhile."""
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGCONT)
        os.waitid(os.P_PID, process.pid, os.WCONTINUED | os.WEXITED | os.WNOWAIT)


def dismiss(process: Process) -> str:
    """Tell an actor that rests to end, and reap it. Returns how it ended, as `reap` does.

    One that somebody stopped (SIGSTOP) is continued, as often as needed: it could not notice. One that does not end is killed.
    """
    process.gate.close()
    deadline = monotonic() + LIMITS.step_seconds
    while not has_ended(process.pid, _LOOK_MS):
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGCONT if monotonic() < deadline else signal.SIGKILL)
    return reap(process)


def reap(process: Process) -> str:
    """Wait for an actor that is dying. Returns `exit`, `exit <code>` or the name of the signal that ended it."""
    try:
        _, status = os.waitpid(process.pid, 0)
    except ChildProcessError:
        return "exit"
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    code = os.WEXITSTATUS(status)
    return f"exit {code}" if code else "exit"


def has_ended(pid: int, timeout_ms: float = 0.0) -> bool:
    """Whether any process of this machine has ended; waits for its end at most so long."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(timeout_ms))
    finally:
        os.close(descriptor)


def is_asleep(pid: int) -> bool:
    """Whether a process of this machine waits for something; one that runs, or could if it had a processor, does not."""
    return _state_of(pid) != b"R"


def is_stopped(pid: int) -> bool:
    """Whether a process of this machine is stopped, or has ended."""
    return _state_of(pid) in (b"T", b"")


def _state_of(pid: int) -> bytes:
    """State of a process (proc(5), field 3); empty if there is none."""
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY)  # a tenth of the cost of Path.read_text
    except OSError:
        return b""
    try:
        text = os.read(descriptor, _STAT_BYTES)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
    return text.rpartition(b")")[2][1:2]


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent, whose process id is given, ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the signal was armed
        os._exit(0)


def start_time(pid: int) -> int:
    """Start time of a process in clock ticks since boot (proc(5), field 22); 0 if there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    return int(text.rpartition(")")[2].split()[19])


def run_in_child(spec: HandSpec, end: socket.socket, coordinator: int, work: Callable[[], None]) -> NoReturn:
    """What a child of the coordinator does after a fork: give up what it inherited but one descriptor, work, and end."""
    code = 70
    try:
        _detach(end.fileno(), coordinator)
        if spec.gathering is not None:
            spec.gathering.leave()
        work()
        code = 0
    except SystemExit:
        code = 0
    except ServerError as error:
        code = 4
        sys.stderr.write(f"an actor ended: {error}\n")
        sys.stderr.flush()
    except BaseException:  # noqa: BLE001 - the child must not return into the coordinator's code
        traceback.print_exc()
    finally:
        os._exit(code)


def _detach(keep: int, coordinator: int) -> None:
    """Tie the child to its parent and give up everything else that it inherited."""
    die_with(coordinator)
    # Ctrl-C reaches the whole foreground group; the coordinator decides what happens to its actors.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    gc.freeze()
    # Close descriptors, never connections: closing a connection would end the coordinator's own session.
    os.closerange(3, keep)
    os.closerange(keep + 1, os.sysconf("SC_OPEN_MAX"))
    devnull = os.open(os.devnull, os.O_RDONLY)
    os.dup2(devnull, 0)


def live(spec: HandSpec, end: socket.socket) -> None:
    """Connect, and play one role after another behind a gate."""
    sessions = _Sessions(spec, libpq.connect(spec.conninfo), end)
    if spec.design.tidies_up:
        sessions.gate.heed(signal.SIGTERM)
    try:
        order = sessions.gate.next_order(Intent(ROUND))
        while True:
            order = _play(spec, sessions, order, _role(order))
    except Terminated:
        sessions.gate.park(Intent(EXIT))


class _Sessions:
    """The sessions of a process, on each of its connections one after another: the next is opened when one has ended.

    It has one connection, and with the role of a worker also those that the design names.
    """

    def __init__(self, spec: HandSpec, connection: PGconn, end: socket.socket) -> None:
        self._spec = spec
        self._connections = [connection]
        self._used = 0
        self.gate = ActorGate(end, (connection.backend_pid,), coalesce=spec.coalesce)

    def first(self, role: Role) -> list[Session]:
        """The present session, in a role, or another if it has ended; and one on each further connection. Raises ServerError."""
        self._used = 0
        further = len(self._spec.design.connections) if role.program in OF_WORKERS else 0
        return [self._prepared(role, 0) or self.next(role, 0), *(self.next(role, 1 + place) for place in range(further))]

    def next(self, role: Role, place: int) -> Session:
        """Another session in the same role, on one of its connections. Raises ServerError."""
        for ended in self._connections[place : place + 1]:
            ended.finish()
        connection = libpq.connect(self._spec.conninfo)
        self._connections[place : place + 1] = [connection]
        self.gate.backends = tuple(one.backend_pid for one in self._connections)
        if self._spec.gathering is not None:
            self._spec.gathering.join(connection.backend_pid)
        session = self._prepared(role, place)
        if session is None:
            raise ServerError(f"the session of {role.name} has ended as soon as it began")
        return session

    def _prepared(self, role: Role, place: int) -> Session | None:
        """Prepare a session. Each has random functions of its own. None: it has ended."""
        self._used += 1
        name = f"session/{role.name}" + (f"/{self._used}" if self._used > 1 else "")
        seed = clock.set_seed(stream_of(role.seed, name).random())
        who = "/".join((role.actor, *filter(None, [self._spec.design.connection_name(place)])))
        settings = [seed, f"SET application_name = {libpq.literal(f'simrunner:{who}')}"]
        session = self._spec.design.session
        if session.looks_for_client:
            settings.append(f"SET client_connection_check_interval = {session.client_connection_check_interval_ms}")
        if not session.commits_survive:
            settings.append("SET synchronous_commit = off")
        reply = libpq.run(self._connections[place], "; ".join(settings))
        if reply.ended:
            return None
        libpq.expect(reply, f"preparing the session of {role.name}")
        spec, counts = self._spec, self._spec.workload.counts_buffers
        return Session(self._connections[place], self.gate, spec.design, spec.superuser, counts_buffers=counts, place=place)


def _play(spec: HandSpec, sessions: _Sessions, order: Order, role: Role) -> Order:
    """Play a role until the first order of the next one comes, and return that."""
    gate = sessions.gate
    first = sessions.first(role)
    client = Client(first, spec.design, spec.workload, role.identity, role.name, lambda place: sessions.next(role, place))
    program, rest_point = program_of(role.program, spec.design)
    while True:
        acted = _takes_part(spec, gate, order) and perform(client, program, order)
        order = gate.next_order(Intent(ROUND, crash_point=rest_point if acted else None))
        if order.role is not None:
            return order


def _takes_part(spec: HandSpec, gate: ActorGate, order: Order) -> bool:
    """Align at the barrier of a concurrent round, if the order is one for such. False: the round was called off."""
    if order.barrier is None:
        return True
    if gate.park(Intent(BARRIER)).order is not None:
        return False
    spec.barriers[order.barrier].wait()
    gate.free, gate.stop_at = True, order.stop_at
    return True


def _role(order: Order) -> Role:
    if order.role is None:
        raise SystemExit(70)
    return order.role
