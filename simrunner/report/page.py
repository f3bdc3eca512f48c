"""A page of text: rich renderables that become plain lines in a pipe and coloured ones on a terminal."""

from __future__ import annotations

import io

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from simrunner.errors import printable

WIDTH_MIN, WIDTH_MAX = 60, 130
_NAME_COLUMNS = 10


class Page:
    """Renderables, one under the other. Text is never taken for markup, nor for what a terminal obeys: it may quote anything."""

    def __init__(self, *parts: RenderableType) -> None:
        self._parts: list[tuple[RenderableType, bool]] = []
        self.add(*parts)

    def add(self, *parts: RenderableType) -> None:
        """Put parts below; text is broken at the width."""
        self._parts += [(part, False) for part in parts]

    def add_facts(self, *facts: tuple[str, str | Text]) -> None:
        """Put lines of a name and what is to be said below. They are not broken, so that they can be copied."""
        for name, value in facts:
            self._parts.append((Text.assemble((f"{name:<{_NAME_COLUMNS}}", "bold"), value), True))

    def render(self, width: int, *, colour: bool) -> str:
        """Return the page as text, lines ended by line feeds and without spaces at their end, `width` columns wide."""
        buffer = io.StringIO()
        console = Console(
            file=buffer,
            width=max(WIDTH_MIN, min(width, WIDTH_MAX)),
            force_terminal=colour,
            color_system="standard" if colour else None,
            force_interactive=False,
            markup=False,
            emoji=False,
            highlight=False,
        )
        for part, whole in self._parts:
            console.print(_Printable(part), soft_wrap=whole)
        return "".join(f"{line.rstrip()}\n" for line in buffer.getvalue().splitlines())


class _Printable:
    """A renderable with the text that a terminal would not show, or obey, escaped."""

    def __init__(self, part: RenderableType) -> None:
        self._part = part

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self._part, options):
            yield segment._replace(text=printable(segment.text))


def plain_table(*headers: str) -> Table:
    """Return an empty table without lines. A header that ends in `>` heads a column of numbers; all empty: no header."""
    table = Table(box=None, pad_edge=False, show_header=any(headers), header_style="bold", padding=(0, 2, 0, 0))
    for header in headers:
        if header.endswith(">"):
            table.add_column(header[:-1], justify="right", no_wrap=True)
        else:
            table.add_column(header, overflow="fold")
    return table
