"""Parquet files on their own: round trips, damage, newer schemas."""

from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simrunner.errors import RunFolderError
from simrunner.history.context import AuditRow
from simrunner.history.schema import SCHEMA, VERSION_KEY, to_table
from simrunner.model.event import Event
from simrunner.model.job import JobRow
from simrunner.model.verdict import Finding
from simrunner.store import parquet
from tests.store.strategies import AUDITS, FINAL_JOBS, TEXT, histories
from tests.store.synthetic import synthetic

FINDINGS = st.lists(
    st.builds(Finding, TEXT, st.integers(1, 99), st.none() | st.integers(1, 99), st.lists(st.integers(1, 99)).map(tuple), TEXT),
    max_size=5,
)


@settings(deadline=None)
@given(events=histories(), jobs=FINAL_JOBS, audit=AUDITS, findings=FINDINGS)
def test_round_trips(
    tmp_path_factory: pytest.TempPathFactory,
    events: list[Event],
    jobs: list[tuple[int, JobRow]],
    audit: list[AuditRow],
    findings: list[Finding],
) -> None:
    folder = tmp_path_factory.mktemp("parquet")
    parquet.write_events(folder / "events", to_table(events))
    parquet.write_jobs(folder / "jobs", jobs)
    parquet.write_audit(folder / "audit", audit)
    parquet.write_findings(folder / "findings", findings)
    assert parquet.read_events(folder / "events") == events
    assert parquet.read_jobs(folder / "jobs") == tuple(jobs)
    assert parquet.read_audit(folder / "audit") == tuple(audit)
    assert parquet.read_findings(folder / "findings") == tuple(findings)


def test_events_of_a_newer_schema_are_refused(tmp_path: Path) -> None:
    table = to_table(synthetic(1)).replace_schema_metadata({VERSION_KEY: "999"})
    parquet.write_events(tmp_path / "part", table)
    with pytest.raises(RunFolderError, match=r"part.*newer simrunner"):
        parquet.read_events(tmp_path / "part")


def test_other_columns_are_refused(tmp_path: Path) -> None:
    parquet.write_events(tmp_path / "part", pa.table({"seq": [1]}, metadata=SCHEMA.metadata))
    with pytest.raises(RunFolderError, match=r"part: does not have the columns"):
        parquet.read_events(tmp_path / "part")


@settings(deadline=None)
@given(place=st.integers(0, 10**9), bit=st.integers(0, 7))
def test_page_checksums_catch_flipped_bits_in_findings(tmp_path_factory: pytest.TempPathFactory, place: int, bit: int) -> None:
    """Outside the pages (the footer) a flip may go unseen, but then the rows are still the written ones."""
    path = tmp_path_factory.mktemp("flip") / "findings.parquet"
    findings = (Finding("claim-order", 7, 3, (1, 7), "job {job:3} passed"),)
    parquet.write_findings(path, findings)
    data = bytearray(path.read_bytes())
    place %= data.index(b"ARROW:schema") - 400  # the pages; the footer follows
    data[place] ^= 1 << bit
    path.write_bytes(data)
    with suppress(RunFolderError):
        assert parquet.read_findings(path) == findings
