"""The durable traces: effects that are recorded twice, reports that leave out what is locked."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from simrunner.model.remark import Level, Remark
from simrunner.review.reading import Reading, bare


def effect_key(reading: Reading) -> Iterator[Remark]:
    """Without a unique key a second execution leaves a second effect."""
    effects = reading.design.effects
    if effects is None or bare(effects.table) not in reading.unique_keys:  # not in schema.sql, as far as it can be read
        return
    if not any(key and key <= {effects.key_column.lower()} for key in reading.unique_keys[bare(effects.table)]):
        reads = reading.of("effect")
        yield Remark(
            Level.WARNING,
            "effect-without-key",
            f"{effects.table}.{effects.key_column} is not unique: a job that is executed twice leaves two effects",
            "make it a primary key or unique, and insert with ON CONFLICT DO NOTHING",
            reads[0].place() if reads else None,
        )


def report(reading: Reading) -> Iterator[Remark]:
    """A report through SKIP LOCKED undercounts, and one that locks is in the way of claims."""
    for read in reading.of("report"):
        for lock in read.all(exp.Lock):
            skips = lock.args.get("wait") is False
            yield Remark(
                Level.WARNING,
                "report-takes-locks",
                "the report leaves out what others have locked (SKIP LOCKED), and keeps claims from what it counts"
                if skips
                else "the report locks what it counts: it waits for claims, and claims pass over its rows",
                "count without a locking clause: a snapshot needs none",
                read.place(lock.parent),
            )
