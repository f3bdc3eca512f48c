"""The process that forks the actors, beside the steps of the coordinator.

A fork costs the one that forks more than the fork: each page that it writes to next has to be copied first, and a coordinator at
work writes to hundreds. So that is done by a process that does nothing else. The actors are the coordinator's children all the
same (CLONE_PARENT, clone(2)): it waits for them, and they die with it.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from simrunner.errors import ServerError
from simrunner.limits import LIMITS
from simrunner.runtime import process
from simrunner.runtime.gate import PipeGate
from simrunner.runtime.holding import ENDING
from simrunner.runtime.process import HandSpec, Process

_CLONE_PARENT = 0x8000
_CLONE = {"x86_64": 56, "aarch64": 220, "riscv64": 220, "loongarch64": 220}.get(os.uname().machine, 0)
"""Number of clone(2) on this kind of machine; 0: it is not known."""
_BORN = struct.Struct("=qq")
"""Process id and start time of an actor, beside the descriptor of its gate."""
_ASKED = b"."
_LIVES = 3
"""It is replaced so often in a row."""
_interpreter = ctypes.PyDLL(None, use_errno=True)
"""Called with the interpreter's lock held, which the child needs."""


class Nursery:
    """Forks processes that can play any actor of a run. One that was killed is replaced: the actors live on without it.

    Raises ServerError on a kind of machine on which that is not known to work.
    """

    def __init__(self, spec: HandSpec) -> None:
        if not _CLONE:
            raise ServerError(f"actors cannot be forked on {os.uname().machine}: run simrunner on x86_64 or aarch64")
        self._spec = spec
        self._asked = 0
        self._begin()

    @property
    def asked(self) -> int:
        """Processes that were asked for and not taken."""
        return self._asked

    def ask(self) -> None:
        """Ask for a process. It reports at its gate when it is connected, and waits for its role."""
        self._asked += 1
        with suppress(OSError):  # it was killed: whoever takes the process notices
            self._end.send(_ASKED)

    def take(self) -> Process:
        """Take a process that was asked for. Raises ServerError."""
        for _ in range(_LIVES):
            if not self._poll.poll(LIMITS.step_seconds * 1000):
                raise ServerError(f"an actor could not be forked within {LIMITS.step_seconds:.0f} s")
            one = self._received()
            if one is not None:
                self._asked -= 1
                return one
            self._finish()
            self._begin()
        raise ServerError("the process that forks the actors ends again and again; find out who kills it")

    def drop(self) -> None:
        """End what was asked for and not taken."""
        while self._asked and self._poll.poll(LIMITS.step_seconds * 1000):
            one = self._received()
            if one is None:
                break
            process.kill(one)
            one.gate.close()
            self._asked -= 1
        self._asked = 0

    def close(self) -> None:
        """End it, and what was asked of it and not taken."""
        self.drop()
        self._finish()

    def _begin(self) -> None:
        """Fork it, and ask for what was asked for."""
        self._end, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._poll = select.poll()
        self._poll.register(self._end, select.POLLIN)
        coordinator = os.getpid()
        # A signal between the fork and its own handlers would run the coordinator's in the child.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        self._pid = os.fork()
        if self._pid == 0:
            process.run_in_child(self._spec, theirs, coordinator, partial(_serve, self._spec, theirs, coordinator))
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        with suppress(OSError):
            for _ in range(self._asked):
                self._end.send(_ASKED)

    def _received(self) -> Process | None:
        """The next process, as soon as it is there. None: there will be none, because the nursery has ended."""
        try:
            born, descriptors, _, _ = socket.recv_fds(self._end, _BORN.size, 1)
        except OSError:
            return None
        if not descriptors:
            return None
        pid, started = _BORN.unpack(born)
        return Process(pid, started, PipeGate(socket.socket(fileno=descriptors[0])))

    def _finish(self) -> None:
        self._end.close()
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self._pid, 0)


def _serve(spec: HandSpec, end: socket.socket, coordinator: int) -> None:
    with suppress(BrokenPipeError, ConnectionResetError):  # the coordinator is gone: this process is about to be, too
        while end.recv(len(_ASKED)):
            _bear(spec, end, coordinator)


def _bear(spec: HandSpec, end: socket.socket, coordinator: int) -> None:
    """Fork an actor and tell of it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        pid = _fork_sibling()
        if pid == 0:
            process.run_in_child(spec, theirs, coordinator, partial(process.live, spec, theirs))
        socket.send_fds(end, [_BORN.pack(pid, process.start_time(pid))], [ours.fileno()])


def _fork_sibling() -> int:
    """Fork as os.fork() does, but a child of this process's own parent. Raises OSError."""
    before, child, parent = (_hook(name) for name in ("PyOS_BeforeFork", "PyOS_AfterFork_Child", "PyOS_AfterFork_Parent"))
    before()
    pid: int = _interpreter.syscall(*map(ctypes.c_long, (_CLONE, _CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)))
    if pid == 0:
        child()
        return 0
    parent()
    if pid < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return pid


def _hook(name: str) -> Callable[[], None]:
    hook = getattr(ctypes.pythonapi, name)
    hook.restype = None
    return hook  # type: ignore[no-any-return]
