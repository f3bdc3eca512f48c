"""A recorded plan in a few words: its nodes, the indexes it reads, whether it sorts. Plans are recorded, never asserted."""

from __future__ import annotations

import re

_NODE = re.compile(r"^\s*(?:->\s+)?(\w[^(\n]*?)[ ]+\((?:cost|actual)", re.MULTILINE)
_INDEX = re.compile(r"\bIndex (?:Only )?Scan using (\S+)|\bBitmap Index Scan on (\S+)")


def plan_in_words(plan: str) -> str:
    """Return which indexes a plan of EXPLAIN's text format reads, whether it sorts, and its nodes from the outermost in."""
    nodes = _NODE.findall(plan)
    indexes = list(dict.fromkeys(found for pair in _INDEX.findall(plan) for found in pair if found))
    sorts = any(node.startswith(("Sort", "Incremental Sort")) for node in nodes)
    read = f"reads {', '.join(indexes)}" if indexes else "reads no index"
    return f"the plan {read} and has {'an' if sorts else 'no'} explicit sort; nodes: {' > '.join(map(_short, nodes))}"


def _short(node: str) -> str:
    """A node without the names of schema, table and alias."""
    return re.split(r" (?:on|using) ", node)[0]
