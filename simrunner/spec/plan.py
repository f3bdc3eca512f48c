"""Links the permutations of a spec to its steps, and yields them in the order in which they are run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from simrunner.errors import InputError
from simrunner.spec.interleavings import interleavings
from simrunner.spec.model import Marker, Mention, Place, Spec, Step
from simrunner.spec.parser import parse


@dataclass(frozen=True, slots=True)
class Delay:
    """A marker `step` or `step notices n`, linked to its step."""

    step: Step
    notices: int | None


@dataclass(frozen=True, slots=True)
class Move:
    """One step of a permutation."""

    step: Step
    once: bool
    """Marked `*`: reported as waiting once, whether it waits or not."""
    delays: tuple[Delay, ...]
    place: Place
    """Where the permutation names it; where the step is defined in a permutation that is not written down."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A checked spec and what is to be run."""

    file: str
    """As messages name it."""
    name: str
    """The file's name without its extension."""
    spec: Spec
    written: tuple[tuple[Move, ...], ...]
    """The permutations of the file."""
    unused: tuple[str, ...]
    """Names of steps that no permutation of the file uses, in order of their bytes; none where it has no permutation."""

    def permutations(self) -> Iterator[tuple[Move, ...]]:
        """Yield the permutations of the file, or all interleavings if it has none."""
        return iter(self.written) if self.written else _all(self.spec)

    def at(self, place: Place) -> str:
        """Return `file:line:column` for messages."""
        return f"{self.file}:{place.line}:{place.column}"


def read_plan(path: Path) -> Plan:
    """Read and check a spec. Raises InputError with `file:line:column` for whatever is wrong with it."""
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise InputError("cannot be read: it is not a file", place=path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", place=path) from error
    return plan_of(data.decode(errors="surrogateescape"), str(path), path.stem)


def plan_of(text: str, file: str, name: str) -> Plan:
    """Parse and check the text of a spec. Raises InputError with `file:line:column`."""
    spec = parse(text, file)
    linker = _Linker(spec, file)
    written = tuple(linker.permutation(mentions) for mentions in spec.permutations)
    return Plan(file, name, spec, written, linker.unused() if written else ())


def _all(spec: Spec) -> Iterator[tuple[Move, ...]]:
    for order in interleavings([len(session.steps) for session in spec.sessions]):
        piles = [iter(session.steps) for session in spec.sessions]
        yield tuple(_bare(next(piles[session])) for session in order)


def _bare(step: Step) -> Move:
    return Move(step, once=False, delays=(), place=step.place)


class _Linker:
    def __init__(self, spec: Spec, file: str) -> None:
        self._file = file
        self._steps: dict[str, Step] = {}
        self._used: set[str] = set()
        for session in spec.sessions:
            for step in session.steps:
                if step.name in self._steps:
                    first = self._steps[step.name].place.line
                    raise self._error(step.place, f"there are two steps named {step.name}; the first is at line {first}")
                self._steps[step.name] = step

    def permutation(self, mentions: tuple[Mention, ...]) -> tuple[Move, ...]:
        for mention in mentions:
            if mention.step not in self._steps:
                raise self._error(mention.place, f"the permutation names the step {mention.step}, which no session has")
            self._used.add(mention.step)
        present = {mention.step for mention in mentions}
        return tuple(self._move(mention, present) for mention in mentions)

    def unused(self) -> tuple[str, ...]:
        names = (name for name in self._steps if name not in self._used)
        return tuple(sorted(names, key=lambda name: name.encode(errors="surrogateescape")))

    def _move(self, mention: Mention, present: set[str]) -> Move:
        step = self._steps[mention.step]
        delays = tuple(self._delay(step, marker, present) for marker in mention.markers if marker.step is not None)
        return Move(step, any(marker.step is None for marker in mention.markers), delays, mention.place)

    def _delay(self, step: Step, marker: Marker, present: set[str]) -> Delay:
        name = str(marker.step)
        if name not in present:
            raise self._error(marker.place, f"the step {step.name} waits for {name}, which is not in this permutation")
        other = self._steps[name]
        if other.session == step.session:
            raise self._error(marker.place, f"the step {step.name} cannot wait for {name}, a step of its own session")
        return Delay(other, marker.notices)

    def _error(self, place: Place, message: str) -> InputError:
        return InputError(message, place=f"{self._file}:{place.line}:{place.column}")
