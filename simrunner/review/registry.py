"""The literal registry of reviews."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from simrunner.model.design import Design
from simrunner.model.remark import Level, Remark
from simrunner.review import claim_form, clock, fence, order, outside, recovery, traces, transactions, unread
from simrunner.review.reading import Reading, read_design

Review = Callable[[Reading], Iterable[Remark]]

REVIEWS: tuple[Review, ...] = (
    claim_form.over_claims,
    claim_form.unlocked,
    claim_form.waits,
    order.tie_breaker,
    order.declared,
    order.differs,
    fence.owner,
    fence.recovery,
    recovery.missing,
    recovery.deletes,
    transactions.isolation,
    transactions.work_inside,
    traces.effect_key,
    traces.report,
    clock.escapes,
    clock.observers,
    clock.qualified,
    outside.reaches,
    unread.unread,
)


def review(design: Design) -> list[Remark]:
    """Return what every review has to say about a design, heaviest first, else in the order of the registry."""
    reading = read_design(design)
    return heaviest_first(remark for each in REVIEWS for remark in each(reading))


def heaviest_first(remarks: Iterable[Remark]) -> list[Remark]:
    """Return remarks by level, else in the order given."""
    levels = list(Level)
    return sorted(remarks, key=lambda remark: levels.index(remark.level))
