"""Reads a spec: `setup* teardown? session+ permutation*`, as src/test/isolation/README of PostgreSQL's sources defines it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from simrunner.errors import InputError
from simrunner.spec.model import Block, Marker, Mention, Session, Spec, Step
from simrunner.spec.scanner import Kind, Token, tokens_of

_Item = TypeVar("_Item")


def parse(text: str, file: str) -> Spec:
    """Return what a spec says. Raises InputError with `file:line:column` and what was expected there."""
    return _Parser(text, file).spec()


class _Parser:
    def __init__(self, text: str, file: str) -> None:
        self._file = file
        self._tokens = tokens_of(text, file)
        self._next = next(self._tokens)
        self._tried: list[Kind] = []
        """What could have stood here instead: it is what an error says was expected."""

    def spec(self) -> Spec:
        setups = self._many(Kind.SETUP, self._block)
        teardown = self._optional(Kind.TEARDOWN)
        sessions: list[Session] = []
        while not sessions or self._at(Kind.SESSION):
            self._take(Kind.SESSION)
            sessions.append(self._session(len(sessions)))
        permutations = self._many(Kind.PERMUTATION, self._permutation)
        self._take(Kind.END)
        return Spec(setups, teardown, tuple(sessions), permutations)

    def _session(self, index: int) -> Session:
        name = self._take(Kind.NAME).value
        setup = self._optional(Kind.SETUP)
        steps: list[Step] = []
        while not steps or self._at(Kind.STEP):
            self._take(Kind.STEP)
            steps.append(self._step(index))
        return Session(name, setup, tuple(steps), self._optional(Kind.TEARDOWN))

    def _step(self, session: int) -> Step:
        name = self._take(Kind.NAME)
        return Step(name.value, self._take(Kind.SQL).value, session, name.place)

    def _permutation(self) -> tuple[Mention, ...]:
        mentions = [self._mention()]
        while self._at(Kind.NAME):
            mentions.append(self._mention())
        return tuple(mentions)

    def _mention(self) -> Mention:
        name = self._take(Kind.NAME)
        return Mention(name.value, self._markers() if self._skip(Kind.OPEN) else (), name.place)

    def _markers(self) -> tuple[Marker, ...]:
        markers = [self._marker()]
        while self._skip(Kind.COMMA):
            markers.append(self._marker())
        self._take(Kind.CLOSE)
        return tuple(markers)

    def _marker(self) -> Marker:
        place = self._next.place
        if self._skip(Kind.STAR):
            return Marker(None, None, place)
        step = self._take(Kind.NAME).value
        notices = self._number() if self._skip(Kind.NOTICES) else None
        return Marker(step, notices, place)

    def _number(self) -> int:
        token = self._take(Kind.INTEGER)
        if len(token.value.lstrip("0")) > 9:
            raise InputError("expected a number of at most nine digits", place=self._place(token))
        return int(token.value)

    def _block(self) -> Block:
        token = self._take(Kind.SQL)
        return Block(token.value, token.place)

    def _optional(self, keyword: Kind) -> Block | None:
        return self._block() if self._skip(keyword) else None

    def _many(self, keyword: Kind, item: Callable[[], _Item]) -> tuple[_Item, ...]:
        items: list[_Item] = []
        while self._skip(keyword):
            items.append(item())
        return tuple(items)

    def _at(self, kind: Kind) -> bool:
        self._tried.append(kind)
        return self._next.kind is kind

    def _skip(self, kind: Kind) -> bool:
        found = self._at(kind)
        if found:
            self._advance()
        return found

    def _take(self, kind: Kind) -> Token:
        token = self._next
        if not self._at(kind):
            raise InputError(f"expected {_either(self._tried)}, found {_found(token)}", place=self._place(token))
        self._advance()
        return token

    def _advance(self) -> None:
        self._tried.clear()
        if self._next.kind is not Kind.END:
            self._next = next(self._tokens)

    def _place(self, token: Token) -> str:
        return f"{self._file}:{token.place.line}:{token.place.column}"


def _either(kinds: list[Kind]) -> str:
    words = list(dict.fromkeys(kind.value for kind in kinds))
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _found(token: Token) -> str:
    if token.kind is Kind.NAME:
        return f"the name {token.raw}"
    return f"{token.kind.value} {token.raw}" if token.kind is Kind.INTEGER else token.kind.value
