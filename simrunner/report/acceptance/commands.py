"""The design's SQL as written and as sent, and what each kind of worker sends: evidence that needs the design's files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from simrunner.model.design import Design, OperationSource
from simrunner.model.operations import OPERATIONS, PARAMETERS, ParameterType
from simrunner.report.acceptance.acceptance import Acceptance

_PROGRAMS = (
    ("worker", ("claim", "effect", "complete"), "claims, works after the claim's COMMIT, records the effect, completes"),
    ("worker", ("claim", "effect", "complete"), "does all of it in the transaction of the claim"),
    ("producer", ("enqueue",), "enqueues one job after another"),
    ("recoverer", ("recover",), "makes lapsed claims eligible again"),
    ("ghost", ("complete", "fail", "release", "heartbeat"), "sends a dead worker's late write, under its identity and token"),
)
"""Kind of actor, operations in order, what it does. Of the two workers the design's own kind is shown."""


def operation_sql(source: OperationSource) -> str:
    """Return an operation's file as written and, as comments, each statement as it is sent."""
    lines = [f"-- {source.operation}: as written", "", source.text.rstrip("\n"), "", f"-- {source.operation}: as sent"]
    for number, statement in enumerate(source.statements, 1):
        places = ", ".join(f"${place} = {name}" for place, name in enumerate(statement.parameters, 1))
        lines += ["--", f"-- statement {number}{f', with {places}' if places else ''}:"]
        lines += [f"--     {line}".rstrip() for line in statement.sent.splitlines()]
    return "\n".join(lines) + "\n"


def worker_commands(design: Design, acceptance: Acceptance) -> str:
    """Return how each run is made again, what each kind of worker sends, and how to send it by hand."""
    return "\n".join((*_runs(acceptance), "", *_programs(design), "", *_by_hand(design))) + "\n"


def _runs(acceptance: Acceptance) -> Iterator[str]:
    yield "Each run again, alone:"
    yield ""
    for result in (result for one in acceptance.experiments for result in one.results):
        part = result.part
        mode = "" if part.mode == "stepped" else f" --mode {part.mode}"
        workload = part.workload
        yield f"    simrunner run {workload} --design {part.design} --seed {acceptance.seed}{mode}"


def _programs(design: Design) -> Iterator[str]:
    yield "What each kind of worker sends. Each line is a point at which the coordinator may stop, block or kill it:"
    for kind, operations, meaning in _PROGRAMS:
        if kind == "worker" and meaning.startswith("does all") != design.work_in_claim_transaction:
            continue
        yield ""
        yield f"    {kind}: {meaning}"
        together = kind == "worker" and design.work_in_claim_transaction
        yield from _transactions(design, [name for name in operations if design.offers(name)], together=together)


def _transactions(design: Design, operations: Sequence[str], *, together: bool) -> Iterator[str]:
    begin = f"        BEGIN ISOLATION LEVEL {design.isolation.upper()}"
    for number, name in enumerate(operations):
        if not together or number == 0:
            yield begin
        yield f"        {name}.sql"
        if name == "claim" and together:
            yield "        (work)"
        if not together or number == len(operations) - 1:
            yield "        COMMIT"
        if name == "claim" and not together:
            yield "        (work)"


def _by_hand(design: Design) -> Iterator[str]:
    yield "By hand, in psql, with values of your own:"
    yield ""
    for name, source in design.operations.items():
        if not OPERATIONS[name].observer:
            used = dict.fromkeys(parameter for statement in source.statements for parameter in statement.parameters)
            values = " ".join(f"-v {parameter}={_example(parameter)}" for parameter in used)
            yield f"    psql {values + ' ' if values else ''}-f {name}.sql"


def _example(parameter: str) -> str:
    return "1" if PARAMETERS[parameter] is ParameterType.NUMBER else f"'{parameter}'"
