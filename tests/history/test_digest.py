"""The canonical hash: what it covers, what it does not, and that a few lines of stdlib Python recompute it."""

import hashlib
import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given

from simrunner.history.digest import Digest, history_sha256
from simrunner.model.event import CANONICAL, OBSERVATIONAL, Event
from tests.store.strategies import histories
from tests.store.synthetic import synthetic


def by_hand(events: list[Event]) -> str:
    lines = (
        json.dumps([getattr(event, name) for name in CANONICAL], ensure_ascii=False, separators=(",", ":")) for event in events
    )
    return hashlib.sha256("".join(line + "\n" for line in lines).encode()).hexdigest()


@given(histories())
def test_equals_the_definition(events: list[Event]) -> None:
    assert history_sha256(events) == by_hand(events)


def test_canonical_columns_come_first() -> None:
    assert Event._fields == CANONICAL + OBSERVATIONAL


def test_a_known_history() -> None:
    event = Event(1, "setup", kind="run", value="start", virtual_time=1_790_057_000_000_000)
    line = (
        b'[1,"setup",null,null,null,null,null,null,"run"' + b",null" * 18 + b',"start"' + b",null" * 4 + b",1790057000000000]\n"
    )
    assert history_sha256([event]) == hashlib.sha256(line).hexdigest()


@pytest.mark.parametrize("column", Event._fields)
def test_every_canonical_column_counts_and_no_other(column: str) -> None:
    event = synthetic(1)[0]
    other: Any = "other" if isinstance(getattr(event, column), str) else 77_777
    changed = event._replace(**{column: other})
    assert (history_sha256([changed]) != history_sha256([event])) == (column in CANONICAL)


def test_order_counts() -> None:
    events = synthetic(2)
    assert history_sha256(events) != history_sha256([*events[1:], events[0]])


def test_streaming_gives_the_same() -> None:
    digest = Digest()
    for event in synthetic(2):
        digest.update(event)
    assert digest.hexdigest() == history_sha256(synthetic(2))


def test_needs_no_arrow() -> None:
    code = "import sys, simrunner.history.digest; sys.exit(bool({'numpy', 'pandas', 'pyarrow'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
