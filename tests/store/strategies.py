"""Hypothesis strategies for what a run stores."""

from __future__ import annotations

from hypothesis import strategies as st

from simrunner.history.context import AuditRow
from simrunner.history.schema import SMALL_INTEGERS, TEXTS, TIMES, VOCABULARIES
from simrunner.model.event import KINDS, PHASES, Event
from simrunner.model.job import JobRow, JobState
from simrunner.model.tape import DECISIONS, Decision, Draw

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
TIME_US = st.integers(0, 4_000_000_000_000_000)
LONG = st.integers(-(2**63), 2**63 - 1)
SHORT = st.integers(-(2**31), 2**31 - 1)


def _column(name: str) -> st.SearchStrategy[object]:
    if name in TIMES:
        return st.none() | TIME_US
    if name in VOCABULARIES or name in TEXTS:
        return st.none() | TEXT
    return st.none() | (SHORT if name in SMALL_INTEGERS else LONG)


_REQUIRED = {"seq": st.just(0), "phase": st.sampled_from(PHASES), "kind": st.sampled_from(KINDS)}
_EVENT = st.builds(Event, **{name: _REQUIRED.get(name, _column(name)) for name in Event._fields})


@st.composite
def histories(draw: st.DrawFn, max_size: int = 30) -> list[Event]:
    """Histories whose seq is gapless from 1; everything else is arbitrary."""
    events = draw(st.lists(_EVENT, max_size=max_size))
    return [event._replace(seq=seq) for seq, event in enumerate(events, 1)]


NAMES = st.lists(st.tuples(st.sampled_from(("job", "token", "key")), st.integers(1, 2**40), TEXT), max_size=10)
DECISION_LISTS = st.lists(
    st.builds(Decision, st.sampled_from(DECISIONS), st.none() | TEXT, st.none() | TEXT, st.none() | SHORT), max_size=10
)
DRAWS = st.lists(st.builds(Draw, TEXT, SHORT, SHORT), max_size=10)
_ORDER_KEYS = st.none() | st.lists(LONG | TEXT, max_size=4).map(tuple)
JOB_ROWS = st.builds(
    JobRow,
    *(TEXT, st.none() | TEXT, st.none() | TEXT, st.sampled_from(JobState), st.none() | TEXT, st.none() | TEXT),
    *(st.none() | SHORT, st.none() | SHORT),
    *([st.none() | TIME_US] * 4),
    _ORDER_KEYS,
)
FINAL_JOBS = st.lists(st.tuples(st.integers(1, 2**40), JOB_ROWS), max_size=10)
AUDITS = st.lists(
    st.builds(AuditRow, st.integers(1, 2**40), st.none() | SHORT, st.none() | LONG, st.none() | TEXT, st.none() | TEXT),
    max_size=10,
)
