"""What the actors do with their opportunity of a round. This is the code that a queue's user would have written."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from simrunner.model.design import Design, FailedHeartbeat, LostCommit
from simrunner.runtime.acting import act, let_go
from simrunner.runtime.client import Client
from simrunner.runtime.gate import Terminated
from simrunner.runtime.messages import Order, Returned, Write
from simrunner.runtime.session import CommitLost, ConnectionLost, StatementFailed, Subject, Transaction, Values

COMPLETE_POINTS = ("after-effect-before-complete", "after-complete-before-commit")
"""Crash points at the BEGIN and at the COMMIT of a completion."""


def work(client: Client, order: Order) -> bool:
    """Claim once; work on what was claimed; record the effect; complete. True: something was claimed."""
    claims = _claim(client)
    client.held = [Subject(claim.job, claim.token, claim.attempt) for claim in claims]
    for subject in tuple(client.held):
        client.session.local("work-start", subject, "after-commit")
        for _ in range(client.workload.actors.heartbeats):
            _heartbeat(client, subject)
        client.session.local("work-end", subject, "during-work")
        _write(client, "effect", subject, client.identity)
        _write(client, "complete", subject, client.identity, before=COMPLETE_POINTS[0], before_commit=COMPLETE_POINTS[1])
        client.held.remove(subject)
    return bool(claims)


def work_inside(client: Client, order: Order) -> bool:
    """Do all that `work` does in the transaction of the claim, which lasts as long as the work. True: something was claimed."""
    token = client.next_token()
    with client.session.transaction("claim", Subject(token=token), "before-claim") as transaction:
        claims = transaction.run(client.design.operations["claim"], _claim_values(client, token))
        for claim in claims:
            subject = Subject(claim.job, claim.token, claim.attempt)
            client.session.local("work-start", subject, "after-claim-before-commit")
            client.session.local("work-end", subject, "during-work")
            _write_inside(client, transaction, "effect", subject)
            _write_inside(client, transaction, "complete", subject, before=COMPLETE_POINTS[0])
            transaction.commit_point = COMPLETE_POINTS[1]
    return bool(claims)


def produce(client: Client, order: Order) -> bool:
    """Enqueue the round's jobs, each in a transaction of its own. True: there were any."""
    for job in order.enqueue:
        values: Values = {
            "job_id": job.job,
            "key": job.key,
            "priority": job.priority,
            "payload": job.payload,
            "max_attempts": client.workload.max_attempts,
        }
        with client.session.transaction("enqueue", Subject(job.job), "before-enqueue") as transaction:
            transaction.run(client.design.operations["enqueue"], values)
            transaction.commit_point = "after-enqueue-before-commit"
    return bool(order.enqueue)


def recover(client: Client, order: Order) -> bool:
    """Make lapsed claims eligible again: batch by batch where the design has batches, then in one last pass. True: some were.

    A design that reads first writes what it has read job by job, each in a transaction of its own.
    """
    if client.design.offers("recover-read"):
        return _rescue(client)
    recovered = False
    while _recover(client, "recover-batch"):
        recovered = True
    return _recover(client, "recover") or recovered


def haunt(client: Client, order: Order) -> bool:
    """Replay writes of dead incarnations under their old identity and token. False: it stands at no crash point."""
    for write in order.writes:
        _write(client, write.operation, _subject(write), write.worker_id)
    return False


def session(client: Client, order: Order) -> bool:
    """Take one step of a script: all that a worker or a recoverer does with one opportunity, or a single action."""
    whole = {"work": program_of("worker", client.design)[0], "recover": recover}.get(order.action.do if order.action else "")
    in_transaction = client.open_operation is not None and not client.holds_claim
    if whole is None or in_transaction:
        return act(client, order)
    let_go(client)
    return whole(client, order)


Program = Callable[[Client, Order], bool]

PROGRAMS: dict[str, tuple[Program, str | None]] = {
    "worker": (work, "after-complete"),
    "producer": (produce, "after-enqueue"),
    "recoverer": (recover, "after-recover"),
    "ghost": (haunt, None),
    "session": (session, None),
}
"""Program of each kind of actor, and the crash point at which it stands when its opportunity is used up."""

OF_WORKERS = ("worker", "session", "ghost")
"""Programs that run operations of a worker: such an actor has all the connections that the design names."""


def program_of(kind: str, design: Design) -> tuple[Program, str | None]:
    """Return the program of a kind of actor and its last crash point.

    Where the work is done in the claim's transaction there is one COMMIT, and a worker stands behind it at `after-commit`.
    """
    if kind == "worker" and design.work_in_claim_transaction:
        return work_inside, "after-commit"
    return PROGRAMS[kind]


def perform(client: Client, program: Program, order: Order) -> bool:
    """Run a program once. A failed statement ends the opportunity: the transaction was rolled back and recorded.

    So does the end of the session, and the client opens another: a claim that was under way is unknown to it. Raises Terminated
    when the process was told to end, after it has given back what it holds.
    """
    try:
        return program(client, order)
    except StatementFailed:
        return False
    except ConnectionLost as lost:
        client.reconnect(lost)
        return False
    except Terminated:
        _give_back(client)
        raise


def _give_back(client: Client) -> None:
    """Release what a process holds that was told to end."""
    for subject in client.held:
        _release(client, subject)


def _release(client: Client, subject: Subject) -> None:
    """Release a job. Where the release fails, the job is recovered one day."""
    with suppress(StatementFailed):
        _write(client, "release", subject, client.identity)


def _claim(client: Client) -> tuple[Returned, ...]:
    token = client.next_token()
    with client.session_of("claim").transaction("claim", Subject(token=token), "before-claim") as transaction:
        claimed = transaction.run(client.design.operations["claim"], _claim_values(client, token))
        if claimed:
            transaction.commit_point = "after-claim-before-commit"
    return claimed


def _rescue(client: Client) -> bool:
    with client.session.transaction("recover-read", Subject(), "before-recover") as transaction:
        lapsed = transaction.run(client.design.operations["recover-read"], _recover_values(client))
    recovered = False
    for claim in lapsed:
        subject = Subject(claim.job, claim.token, claim.attempt)
        values = {**_recover_values(client), "job_id": claim.job, "token": claim.token, "attempt": claim.attempt}
        with client.session.transaction("recover-write", subject) as transaction:
            if transaction.run(client.design.operations["recover-write"], values):
                transaction.commit_point = "after-recover-before-commit"
                recovered = True
    return recovered


def _recover_values(client: Client) -> Values:
    return {"worker_id": client.identity, "batch": client.workload.batch, "lease_ms": client.workload.lease_ms}


def _recover(client: Client, operation: str) -> bool:
    if not client.design.offers(operation):
        return False
    values = _recover_values(client)
    with client.session.transaction(operation, Subject(), "before-recover") as transaction:
        recovered = transaction.run(client.design.operations[operation], values)
        if recovered:
            transaction.commit_point = "after-recover-before-commit"
    return bool(recovered)


def _write(
    client: Client,
    operation: str,
    subject: Subject,
    worker_id: str,
    *,
    before: str | None = None,
    before_commit: str | None = None,
) -> None:
    """Write about a claim that the client knows of; where the session ends under it, once more in the next session.

    Unless that was at the COMMIT, and the design's workers take such a write for done.
    """
    if not client.design.offers(operation):
        return
    while True:
        try:
            with client.session_of(operation).transaction(operation, subject, before) as transaction:
                transaction.run(client.design.operations[operation], _write_values(client, subject, worker_id))
                transaction.commit_point = before_commit
        except ConnectionLost as lost:
            client.reconnect(lost)
            if isinstance(lost, CommitLost) and client.design.worker.lost_commit is LostCommit.TAKE_FOR_DONE:
                return
        else:
            return


def _heartbeat(client: Client, subject: Subject) -> None:
    """Renew the lease. A heartbeat that fails is no lost lease: the stored one is as it was, and the work goes on.

    A worker that takes it for one gives the job back. Its work, which goes on beside the heartbeats, does not hear of it.
    """
    try:
        _write(client, "heartbeat", subject, client.identity)
    except StatementFailed:
        if client.design.worker.failed_heartbeat is FailedHeartbeat.RELEASE:
            _release(client, subject)


def _write_inside(
    client: Client, transaction: Transaction, operation: str, subject: Subject, *, before: str | None = None
) -> None:
    if client.design.offers(operation):
        transaction.operation, transaction.subject = operation, subject
        transaction.run(client.design.operations[operation], _write_values(client, subject, client.identity), before)


def _claim_values(client: Client, token: str) -> Values:
    return {
        "worker_id": client.identity,
        "token": token,
        "batch": client.workload.batch,
        "lease_ms": client.workload.lease_ms,
    }


def _write_values(client: Client, subject: Subject, worker_id: str) -> Values:
    return {
        "worker_id": worker_id,
        "token": subject.token,
        "job_id": subject.job,
        "attempt": subject.attempt,
        "key": subject.job,
        "error": "synthetic failure",
        "retry_delay_ms": client.workload.retry_delay_ms,
        "lease_ms": client.workload.lease_ms,
    }


def _subject(write: Write) -> Subject:
    return Subject(write.job, write.token, write.attempt)
