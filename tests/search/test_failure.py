"""What has to stay the same while a case is made small."""

from __future__ import annotations

import pytest

from simrunner.model.event import Event
from simrunner.model.verdict import Finding, InvariantVerdict, RunVerdict, Verdict
from simrunner.search.shrinking.failure import Failure, failure_of


def verdict(verdict: Verdict, finding: Finding | None) -> RunVerdict:
    row = InvariantVerdict("fenced-writes", verdict, promised=True, judged=True, opportunities=1, violations=1, first=finding)
    return RunVerdict(verdict, "fenced-writes" if finding else None, (row,), ())


@pytest.mark.parametrize("kind", ["transition", "renewal"])
def test_a_change_is_a_change(kind: str) -> None:
    events = [Event(1, "safety", kind="sent", operation="complete"), Event(2, "safety", kind=kind, operation="complete")]
    finding = Finding("fenced-writes", 2, 1, (1, 2), "It changed a row.")
    wanted = Failure("fenced-writes", (("change", "complete"), ("sent", "complete")))
    assert failure_of(verdict(Verdict.VIOLATED, finding), events) == wanted


def test_other_kinds_and_operations_are_others() -> None:
    events = [Event(1, "safety", kind="effect", operation="complete"), Event(2, "safety", kind="renewal", operation="heartbeat")]
    finding = Finding("fenced-writes", 2, 1, (1, 2), "It changed a row.")
    wanted = (("change", "heartbeat"), ("effect", "complete"))
    assert (failure_of(verdict(Verdict.VIOLATED, finding), events) or Failure("", ())).witness == wanted


def test_a_valid_run_has_none() -> None:
    assert failure_of(verdict(Verdict.VALID, None), []) is None
