"""Seeded random draws. Each named stream is independent, so that a new use of chance does not shift the others.

`random.Random.random()` of a fixed seed is the same on every platform and Python version (its documentation promises
that for `random()` alone), so every draw is made from it.
"""

from __future__ import annotations

import hashlib
import random

from simrunner.model.tape import Draw


class Draws:
    """The random draws of one run, recorded in order for the tape.

    `recorded` are the draws so far. The strategy's own draws are not recorded: its decisions are.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.recorded: list[Draw] = []

    def below(self, stream: str, bound: int) -> int:
        """Draw an integer in [0, bound) from the next place of `stream`. Raises ValueError unless bound >= 1."""
        if bound < 1:
            raise ValueError(f"cannot draw below {bound}")
        place = sum(1 for draw in self.recorded if draw.stream == stream)
        value = int(stream_of(self.seed, f"{stream}#{place}").random() * bound)
        self.recorded.append(Draw(stream, bound, value))
        return value


def stream_of(seed: int, name: str) -> random.Random:
    """Return the generator of one named stream of a seed."""
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return random.Random(int.from_bytes(digest[:16], "big"))
