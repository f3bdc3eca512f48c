"""Every shipped design: the server accepts each statement, and the columns that design.toml names are there."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from simrunner.config import escapes, list_designs, load_design
from simrunner.model.design import Design
from simrunner.model.operations import PARAMETERS, ParameterType
from simrunner.runtime import libpq
from simrunner.runtime.database import Database
from tests.designs.queue import Queue

OURS = [entry.name for entry in list_designs() if not entry.name.startswith("systems/")]
JOB_COLUMNS = (
    *("job", "key", "group", "state", "owner", "token", "attempts", "max_attempts"),
    *("available_at", "claimed_at", "lease_until", "completed_at"),
)
OBSERVED = {"jobs": JOB_COLUMNS, "eligible": ("job",), "audit": ("job", "attempt", "token", "from_state", "to_state")}


@pytest.mark.parametrize("name", OURS)
def test_the_server_accepts_every_statement(database: Database, name: str) -> None:
    queue = Queue(database, load_design(name))
    for source in queue.design.operations.values():
        columns: tuple[str, ...] = ()
        for statement in source.statements:
            if source.operation != "schema":
                columns = prepared(queue, statement.sent, statement.parameters)
        missing = [column for column in needed(queue.design, source.operation) if column not in columns]
        assert not missing, source.operation


def prepared(queue: Queue, sent: str, parameters: tuple[str, ...]) -> tuple[str, ...]:
    numbers = [PARAMETERS[name] is ParameterType.NUMBER for name in parameters]
    libpq.expect(libpq.prepare(queue.connection, "", sent, [libpq.INT4_OID if number else 0 for number in numbers]), sent)
    return libpq.columns_of(queue.connection)


def needed(design: Design, operation: str) -> list[str]:
    order = [column.column for column in design.promises.order] if operation == "jobs" else []
    return [*design.operations[operation].results.values(), *OBSERVED.get(operation, ()), *order]


def test_there_are_designs_of_every_kind() -> None:
    assert {name.split("/")[0] for name in OURS} >= {"reference", "variants", "mutants"}


@pytest.mark.parametrize("name", OURS)
def test_the_virtual_clock_reaches_everything(name: str) -> None:
    design = load_design(name)
    assert escapes(design) == []
    assert not design.uses_statement_clock


@pytest.mark.parametrize("name", [name for name in OURS if name.startswith("mutants/")])
def test_a_mutant_breaks_one_thing_of_another_design(name: str) -> None:
    mutant = load_design(name)
    base = load_design(tomllib.loads((Path(mutant.folder) / "design.toml").read_text())["extends"])
    changed = [op for op in base.operations if not mutant.offers(op) or mutant.operations[op].text != base.operations[op].text]
    assert len([op for op in changed if op != "schema"]) <= 1
    assert mutant.expects_root_cause in mutant.promises.invariants
    assert mutant.allows_consequences <= mutant.promises.invariants
    assert (mutant.promises, mutant.policies) == (base.promises, base.policies)
