"""The page of `simrunner doctor`: what was found on the machine and in a design, and what to do about each remark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from simrunner.model.remark import Level, Remark
from simrunner.report.page import Page, plain_table

SCHEMA = 1
"""Version of the JSON document."""
_STYLE = {Level.ERROR: "bold red", Level.WARNING: "yellow", Level.HINT: "cyan"}


def examination_page(facts: Mapping[str, str], remarks: Sequence[Remark]) -> Page:
    """Return the facts, then each remark with its place, its meaning and its remedy, then how many there are."""
    table = plain_table("", "")
    for name, value in facts.items():
        table.add_row(Text(name, "bold"), value)
    page = Page(table, "")
    for remark in remarks:
        where = f"  {remark.place}" if remark.place else ""
        page.add_facts((remark.level.value, Text.assemble((remark.name, _STYLE[remark.level]), where)))
        detail = plain_table("", "", "")
        detail.add_row("", "means", remark.message)
        detail.add_row("", "do", remark.remedy)
        page.add(detail, "")
    page.add(Text(_count(remarks), "bold"))
    return page


def examination_document(facts: Mapping[str, str], remarks: Sequence[Remark]) -> dict[str, Any]:
    """Return the same for machines: `schema`, `facts`, and `remarks` with level, name, place, message and remedy."""
    return {
        "schema": SCHEMA,
        "facts": dict(facts),
        "remarks": [
            {
                "level": remark.level.value,
                "name": remark.name,
                "place": remark.place,
                "message": remark.message,
                "remedy": remark.remedy,
            }
            for remark in remarks
        ],
    }


def _count(remarks: Sequence[Remark]) -> str:
    if not remarks:
        return "Nothing found."
    counted = Counter(remark.level for remark in remarks)
    parts = [f"{counted[level]} {level.value}{'s' if counted[level] != 1 else ''}" for level in Level if counted[level]]
    return ", ".join(parts) + "."
