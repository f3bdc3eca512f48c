"""The order of claims: whether it tells any two jobs apart, and whether it is the one that eligible.sql lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from simrunner.model.remark import Level, Remark
from simrunner.review.reading import Reading, bare, unqualified

_TIES = "jobs that are equal in it come in whatever order the plan gives, so that which job is next is left to luck"
_REMEDY = "end the order with a column that no two jobs share, such as the id"


def tie_breaker(reading: Reading) -> Iterator[Remark]:
    """An ORDER BY without the columns of a unique key leaves the order of ties to the plan and to the table's pages."""
    promised = bool(reading.design.promises.order) or "claim-order" in reading.design.promises.invariants
    level = Level.WARNING if promised else Level.HINT
    for read in reading.of("claim"):
        for select in reading.candidates(read):
            order = _ordered(select)
            if order and not _tells_apart(reading, [_plain(item) for item in order]):
                what = f"the claim's order ({', '.join(map(unqualified, order))}) has no tie-breaker: {_TIES}"
                yield Remark(level, "order-without-tie-breaker", what, _REMEDY, read.place(select.args["order"]))
            elif not order and select.args.get("limit") is not None:
                what = f"the claim takes some jobs (LIMIT) in no order: {_TIES}"
                yield Remark(level, "order-without-tie-breaker", what, f"give it an ORDER BY; {_REMEDY}", read.place(select))


def declared(reading: Reading) -> Iterator[Remark]:
    """The declared total order must be total."""
    order = [column.column for column in reading.design.promises.order]
    sources = _aliases(reading, "jobs")
    named = [_plain_name(sources[column]) if column in sources else column for column in order]
    if order and "job" not in order and not _tells_apart(reading, named):
        yield Remark(
            Level.WARNING,
            "declared-order-not-total",
            f"promises.order ({', '.join(order)}) tells not all jobs apart: claim-order cannot be judged between equal ones",
            _REMEDY,
            reading.toml,
        )


def differs(reading: Reading) -> Iterator[Remark]:
    """The claim and eligible.sql must list the same candidates in the same order."""
    wanted = _order_of_eligible(reading)
    for read in reading.of("claim"):
        for select in reading.candidates(read):
            order = [unqualified(item) for item in _ordered(select)]
            if wanted and order and order != wanted:
                yield Remark(
                    Level.WARNING,
                    "order-differs",
                    f"the claim orders by {', '.join(order)}, but eligible.sql by {', '.join(wanted)}: claims are judged by the"
                    " order of eligible.sql and design.toml",
                    "make the two the same",
                    read.place(select.args["order"]),
                )


def _order_of_eligible(reading: Reading) -> list[str]:
    reads = reading.of("eligible")
    root = reads[0].root if reads else None
    if not isinstance(root, exp.Select):
        return []
    aliases = _aliases(reading, "eligible")
    ordered = [item.copy() for item in _ordered(root)]
    for item in ordered:
        if isinstance(item.this, exp.Column) and item.this.name.lower() in aliases:
            item.set("this", aliases[item.this.name.lower()].copy())
    return [unqualified(item) for item in ordered]


def _ordered(select: exp.Expr) -> Sequence[exp.Ordered]:
    order = select.args.get("order")
    return [] if order is None else [item for item in order.expressions if isinstance(item, exp.Ordered)]


def _aliases(reading: Reading, operation: str) -> dict[str, exp.Expr]:
    reads = reading.of(operation)
    root = reads[0].root if reads else None
    items = root.expressions if isinstance(root, exp.Select) else ()
    return {item.alias.lower(): item.this for item in items if isinstance(item, exp.Alias)}


def _plain(item: exp.Ordered) -> str:
    return _plain_name(item.this)


def _plain_name(node: exp.Expr) -> str:
    return node.name.lower() if isinstance(node, exp.Column) else ""


def _tells_apart(reading: Reading, columns: Sequence[str]) -> bool:
    return any(
        key and key <= set(columns)
        for entry in reading.design.state_tables
        for key in reading.unique_keys.get(bare(entry.table), ())
    )
