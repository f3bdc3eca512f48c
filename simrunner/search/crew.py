"""The parent of a campaign: it forks the coordinators, hands out schedules by number, and says when it is enough.

It talks to no server itself and has one thread, so that the coordinators are forked from a process that holds nothing. Each is
tied to it: when it dies, so do they, their actors and their servers.
"""

from __future__ import annotations

import os
import select
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import NamedTuple, NoReturn

from simrunner import errors
from simrunner.errors import EnvironmentFailure, SimrunnerError
from simrunner.limits import LIMITS
from simrunner.runtime.holding import ENDING, signals_held
from simrunner.runtime.process import die_with
from simrunner.search.campaign import Budget
from simrunner.search.coordinator import Assignment, serve
from simrunner.search.talk import Begin, Channel, Done, Exhausted, Failed, Measure, Measured, Message, Ready, Run, channels
from simrunner.store.schedules import ScheduleResult

Told = Callable[[ScheduleResult], None]
"""Told every schedule that is finished."""


class Coordinator(NamedTuple):
    """A coordinator's process, as its parent holds it."""

    number: int
    pid: int
    channel: Channel

    def expect(self) -> Message:
        """Wait for what it says next. Raises what it ended with."""
        message = self.channel.receive()
        if isinstance(message, Failed):
            raise _error_of(message)
        if message is None:
            raise EnvironmentFailure(f"coordinator {self.number} (process {self.pid}) was killed")
        return message


@contextmanager
def crew_of(assignments: Sequence[Assignment]) -> Iterator[list[Coordinator]]:
    """Fork a coordinator for each assignment; at the end of the block each finishes its schedule and ends."""
    crew: list[Coordinator] = []
    try:
        for one in assignments:
            crew.append(_fork(one, crew))
        yield crew
    finally:
        with signals_held():
            for coordinator in crew:
                coordinator.channel.close()
            for coordinator in crew:
                _see_off(coordinator)


def greet(crew: Sequence[Coordinator]) -> Ready:
    """Wait until all are ready; their servers are alike. Raises what kept one from it."""
    greetings = [message for coordinator in crew if isinstance(message := coordinator.expect(), Ready)]
    return greetings[0]


def measured(coordinator: Coordinator) -> tuple[int, int | None]:
    """Let a coordinator measure, see `measuring.measure`. Raises EnvironmentFailure, DesignError."""
    coordinator.channel.send(Measure())
    message = coordinator.expect()
    assert isinstance(message, Measured)  # noqa: S101 - the answer to Measure
    return message.steps, message.interleavings


@dataclass(slots=True)
class Progress:
    """How far a campaign is."""

    deadline: float | None = None
    """monotonic() time at which the budget of seconds is used up."""
    steps: int = 0
    firsts: dict[str, int] = field(default_factory=dict)
    """Root cause -> the smallest number of a schedule that has shown it."""
    is_exhausted: bool = False

    def add(self, result: ScheduleResult) -> None:
        """Take note of a finished schedule."""
        self.steps += result.steps
        if result.root_cause is not None:
            self.firsts[result.root_cause] = min(result.schedule, self.firsts.get(result.root_cause, result.schedule))

    def is_over(self, budget: Budget) -> bool:
        """Whether no further schedule is to be begun, however many are left."""
        late = self.deadline is not None and monotonic() >= self.deadline
        spent = budget.steps is not None and self.steps >= budget.steps
        return self.is_exhausted or late or spent or (budget.stop_at_first and bool(self.firsts))

    def known(self, number: int) -> tuple[str, ...]:
        """The root causes of which the first schedule is not this one: a smaller number has shown them."""
        return tuple(cause for cause, first in self.firsts.items() if first < number)


def direct(crew: Sequence[Coordinator], begin: Begin, budget: Budget, done: Sequence[ScheduleResult], told: Told) -> None:
    """Have all schedules run that are not done, until the budget is used up. Raises what a coordinator ended with."""
    progress = Progress(None if budget.seconds is None else monotonic() + budget.seconds)
    for result in done:
        progress.add(result)
    finished = frozenset(result.schedule for result in done)
    numbers = iter([number for number in range(budget.schedules) if number not in finished])
    for coordinator in crew:
        coordinator.channel.send(begin)
    busy = {one.channel.fileno(): one for one in crew if _hand_out(one, numbers, budget, progress)}
    while busy:
        for descriptor in _spoken(busy):
            message = busy[descriptor].expect()
            if isinstance(message, Done):
                progress.add(message.result)
                told(message.result)
            progress.is_exhausted = progress.is_exhausted or isinstance(message, Exhausted)
            if not _hand_out(busy[descriptor], numbers, budget, progress):
                del busy[descriptor]


def _hand_out(coordinator: Coordinator, numbers: Iterator[int], budget: Budget, progress: Progress) -> bool:
    number = None if progress.is_over(budget) else next(numbers, None)
    if number is None:
        return False
    coordinator.channel.send(Run(number, progress.known(number)))
    return True


def _spoken(busy: dict[int, Coordinator]) -> list[int]:
    poll = select.poll()
    for descriptor in busy:
        poll.register(descriptor, select.POLLIN)
    return [descriptor for descriptor, _ in poll.poll()]


def _fork(one: Assignment, others: Sequence[Coordinator]) -> Coordinator:
    ours, theirs = channels()
    parent = os.getpid()
    # A signal between the fork and _live would run the parent's handlers in the child.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    pid = os.fork()
    if pid == 0:
        ours.close()
        for other in others:
            other.channel.close()
        _live(one, theirs, parent)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    theirs.close()
    return Coordinator(one.number, pid, ours)


def _live(one: Assignment, channel: Channel, parent: int) -> NoReturn:
    """Serve and end, never to return into the parent's code. Ctrl-C reaches the parent too, which ends the conversation."""
    die_with(parent)
    for descriptor in one.closes:
        os.close(descriptor)
    for number in ENDING:
        signal.signal(number, signal.SIG_DFL if number == signal.SIGTERM else signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    code = 0
    try:
        serve(one, channel)
    except SimrunnerError as error:
        channel.send(Failed(type(error).__name__, error.in_full))
    except BaseException:  # noqa: BLE001 - whatever it is, the parent tells it
        channel.send(Failed("", traceback.format_exc()))
        code = 70
    finally:
        os._exit(code)


def _see_off(coordinator: Coordinator) -> None:
    """Reap a coordinator that is ending; one that does not end in time is killed, and what it started dies with it."""
    deadline = monotonic() + LIMITS.coordinator_end_seconds
    with _pidfd(coordinator.pid) as descriptor:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        if not poll.poll(max(0.0, deadline - monotonic()) * 1000):
            os.kill(coordinator.pid, signal.SIGKILL)
    os.waitpid(coordinator.pid, 0)


@contextmanager
def _pidfd(pid: int) -> Iterator[int]:
    """A descriptor that becomes readable when a child has ended."""
    descriptor = os.pidfd_open(pid)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _error_of(failed: Failed) -> Exception:
    kind = getattr(errors, failed.kind, None)
    return kind(failed.words) if kind is not None else RuntimeError(failed.words)
