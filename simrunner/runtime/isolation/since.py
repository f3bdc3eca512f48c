"""For how long something has been so."""

from __future__ import annotations

from time import monotonic


class Since:
    """Remembers since when something is so, and whether that is longer than a limit."""

    def __init__(self, limit_seconds: float, *, begun: bool = False) -> None:
        self._limit_seconds = limit_seconds
        self._begin = monotonic() if begun else None

    def restart(self) -> None:
        """It is so from now on."""
        self._begin = monotonic()

    def keep(self, holds: bool) -> None:
        """Note whether it is so now."""
        if not holds:
            self._begin = None
        elif self._begin is None:
            self._begin = monotonic()

    def over(self) -> bool:
        """Whether it has been so for longer than the limit."""
        return self._begin is not None and monotonic() - self._begin > self._limit_seconds
