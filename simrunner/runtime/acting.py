"""The program of a scripted session: one action at a time, transactions held open between them where the script says so."""

from __future__ import annotations

from simrunner.model.design import OperationSource, Statement
from simrunner.model.operations import FENCED_WRITES
from simrunner.runtime import clock
from simrunner.runtime.client import Client
from simrunner.runtime.libpq import quote
from simrunner.runtime.messages import Action, Order, Returned
from simrunner.runtime.session import Session, StatementFailed, Subject, Transaction, Values

BUILT = ("candidates", "count", "explain", "lock-table")
"""Actions whose statement simrunner builds from the design's own files."""
READS = (*BUILT, "report")
"""Actions that change no job: a transaction that changes one is named after that."""
ENDS = ("complete", "fail", "release")
"""Writes with which an owner has done with its claim."""
OWN = ("work-start", "work-end", "effect", *FENCED_WRITES)
"""Actions that are about a claim."""


def act(client: Client, order: Order) -> bool:
    """Carry out the action of one script step. A failed statement leaves an explicit transaction open, as in psql."""
    action = order.action
    if action is None:
        return False
    if action.do in OWN and action.write is None and client.subject.job is None:
        return False  # it has claimed nothing that this could be about
    if action.do in ("begin", "claim"):
        let_go(client)
    if action.do == "begin":
        client.session.begin("session", Subject(), isolation=action.isolation)
        client.open_operation = "session"
    elif action.do in ("commit", "rollback"):
        _end(client, action.do.upper())
    elif action.do in ("work-start", "work-end"):
        client.session.local(action.do, client.subject, None)
    elif action.do == "enqueue":
        _enqueue(client, action)
    else:
        _operate(client, action)
    return False


def let_go(client: Client) -> None:
    """End the transaction that a claim has left open, before the session begins something new."""
    if client.holds_claim:
        _end(client, "COMMIT")


def _end(client: Client, verb: str) -> None:
    operation, client.open_operation, client.holds_claim = client.open_operation or "session", None, False
    client.session.end(verb, operation, client.subject)


def _enqueue(client: Client, action: Action) -> None:
    for job in action.enqueue:
        values: Values = {
            "job_id": job.job,
            "key": job.key,
            "priority": job.priority,
            "payload": job.payload,
            "max_attempts": client.workload.max_attempts,
        }
        _run(client, "enqueue", client.design.operations["enqueue"], values, Subject(job.job))


def _operate(client: Client, action: Action) -> None:
    if action.sorted_outside and not client.design.promises.order:
        return  # without a total order there is nothing to sort by
    if action.do == "recover" and client.design.offers("recover-read"):
        _recover_in_halves(client, action)
        return
    source = _built(client, action) if action.do in BUILT else client.design.operations.get(action.do)
    if source is None:
        return
    subject = _subject(client, action)
    if action.do == "claim" and client.open_operation is None and client.design.work_in_claim_transaction:
        client.session.begin("claim", subject)
        client.open_operation, client.holds_claim = "claim", True
    returned = _run_in_claim(client, action.do, source, _values(client, action, subject), subject)
    if action.do == "claim":
        client.subject = Subject(returned[0].job, returned[0].token, returned[0].attempt) if returned else Subject()
    if client.holds_claim and action.write is None and (action.do in ENDS or client.subject.job is None):
        _end(client, "COMMIT")


def _recover_in_halves(client: Client, action: Action) -> None:
    """Recover in the open transaction as a design does that reads first: what was read is written claim by claim."""
    operations = client.design.operations
    for claim in _run(client, "recover-read", operations["recover-read"], _values(client, action, Subject()), Subject()):
        subject = Subject(claim.job, claim.token, claim.attempt)
        _run(client, "recover-write", operations["recover-write"], _values(client, action, subject), subject)


def _run_in_claim(
    client: Client, operation: str, source: OperationSource, values: Values, subject: Subject
) -> tuple[Returned, ...]:
    """Run an operation; the transaction of a claim that the work is done in ends with the first failure."""
    try:
        return _run(client, operation, source, values, subject)
    except StatementFailed:
        if client.holds_claim:
            _end(client, "ROLLBACK")
        raise


def _run(client: Client, operation: str, source: OperationSource, values: Values, subject: Subject) -> tuple[Returned, ...]:
    """Run an operation in the open transaction, or in one of its own; on another connection always in one of its own."""
    session = client.session_of(operation)
    if client.open_operation is None or session is not client.session:
        with session.transaction(operation, subject) as transaction:
            return transaction.run(source, _at(session, values))
    if operation not in READS or client.open_operation == "session":
        client.open_operation = operation
    return Transaction(session, operation, subject).run(source, _at(session, values))


def _at(session: Session, values: Values) -> Values:
    """The values for a transaction that has begun: candidates are those of its time."""
    return {**values, "as_of": clock.literal(session.began_us)}


def _subject(client: Client, action: Action) -> Subject:
    if action.do in ("claim", "explain"):
        return Subject(token=client.next_token())
    if action.write is not None:
        return Subject(action.write.job, action.write.token, action.write.attempt)
    if action.job is not None:
        return Subject(action.job)
    return client.subject if action.do in OWN else Subject()


def _values(client: Client, action: Action, subject: Subject) -> Values:
    workload = client.workload
    return {
        "worker_id": action.write.worker_id if action.write else client.identity,
        "token": subject.token,
        "job_id": subject.job,
        "attempt": subject.attempt,
        "key": subject.job,
        "batch": action.limit or workload.batch,
        "lease_ms": workload.lease_ms,
        "retry_delay_ms": workload.retry_delay_ms,
        "max_attempts": workload.max_attempts,
        "priority": action.priority or 0,
        "payload": f"amended-{subject.job}",
        "error": "synthetic failure",
    }


def _built(client: Client, action: Action) -> OperationSource:
    """Build a statement from the design's files: its candidates with a lock or a count, a table lock, a plan."""
    text, results = {
        "candidates": (_candidates, {"job": "job"}),
        "count": (_count, {"count": "count"}),
        "lock-table": (_lock_table, {}),
        "explain": (_explain, {"plan": "QUERY PLAN"}),
    }[action.do]
    statement = text(client, action)
    return OperationSource(action.do, "", statement.text, (statement,), results)


def _candidates(client: Client, action: Action) -> Statement:
    eligible = client.design.operations["eligible"].statements[0]
    limit = f"\nLIMIT {action.limit}" if action.limit else ""
    lock = f"\n{action.lock}" if action.lock else ""
    if not action.sorted_outside:
        return _same(eligible, f"{eligible.sent}{limit}{lock}")
    order = ", ".join(f"q.{quote(key.column)}{' DESC' * key.descending}" for key in client.design.promises.order)
    return _same(eligible, f"SELECT q.job FROM (\n{eligible.sent}{lock}) q\nORDER BY {order}{limit}")


def _count(client: Client, action: Action) -> Statement:
    # An aggregate cannot lock (0A000): a locking count needs a sub-query.
    eligible = client.design.operations["eligible"].statements[0]
    lock = f"\n{action.lock}" if action.lock else ""
    return _same(eligible, f"SELECT count(*) AS count FROM (\n{eligible.sent}{lock}) q")


def _lock_table(client: Client, action: Action) -> Statement:
    text = f"LOCK TABLE {quote(client.design.state_tables[0].table)} IN {action.mode} MODE"
    return Statement(text, text, (), 1)


def _explain(client: Client, action: Action) -> Statement:
    claim = client.design.operations["claim"].statements[0]
    options = "ANALYZE, BUFFERS, VERBOSE" if action.analyze else "VERBOSE, COSTS"
    return _same(claim, f"EXPLAIN ({options}) {claim.sent}")


def _same(source: Statement, text: str) -> Statement:
    return Statement(text, text, source.parameters, 1)
