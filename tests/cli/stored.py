"""Run folders with hand-written histories of the smoke workload, as a run would have left them."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from simrunner.analysis.terms import terms_document
from simrunner.config import load_design, load_workload
from simrunner.history.builder import HistoryBuilder
from simrunner.history.history import History
from simrunner.model.tape import Decision
from simrunner.store.context import context_document
from simrunner.store.final import write_final
from simrunner.store.folder import COMPLETE, RunFolder
from simrunner.store.journal import JOURNAL, Journal
from simrunner.store.seal import seal
from simrunner.store.tape import Setup

DECISIONS = [Decision("round", amount=1), Decision("step", "worker-a", "claim:BEGIN")]


def sound() -> History:
    """A crash after the commit, a recovery, and everything done: valid."""
    h = HistoryBuilder(lease_ms=15_000)
    h.seed(3)
    h.claim("worker-a")
    h.kill("worker-a", "after-commit")
    _work(h, "worker-b")
    _work(h, "worker-a")
    h.claim_nothing("worker-a")
    h.clock(60_000)
    h.recover()
    _work(h, "worker-b")
    return h.build()


def unfenced() -> History:
    """A dead worker's completion is accepted after its job was recovered."""
    h = HistoryBuilder(lease_ms=15_000)
    h.seed(3)
    token = h.claim("worker-a")
    h.kill("worker-a", "after-commit")
    h.clock(60_000)
    h.recover()
    h.complete("ghost", 1, token=token, accepted=True)
    _work(h, "worker-b")
    _work(h, "worker-a")
    return h.build()


def _work(h: HistoryBuilder, worker: str) -> None:
    h.claim(worker)
    h.work_start(worker)
    h.work_end(worker)
    h.effect(worker)
    h.complete(worker)


def stored(results: Path, history: History, *, sealed: bool = True, complete: bool = True, **run: Any) -> Path:
    """Return the folder of a run that recorded the history; `run` overrides keys of run.json."""
    design, workload = load_design("reference"), load_workload("smoke")
    with RunFolder.create(results, "smoke", "reference", 1, datetime(2026, 9, 22, tzinfo=UTC)) as folder:
        setup = Setup("0", "reference", design.sha256, "smoke", workload.sha256, (), 1, "stepped", "random", 18)
        folder.update_run(
            **asdict(setup),
            postgres={"major": 18, "version": "PostgreSQL 18.4 on a test"},
            context=context_document(design, workload, "stepped"),
            terms=terms_document(workload),
        )
        journal = Journal(folder.path / JOURNAL)
        context = history.context
        names = [("job", job, name) for job, name in context.job_names.items()]
        names += [("token", token, name) for token, name in context.token_names.items()]
        journal.append(history.events, names, DECISIONS)
        journal.close()
        if complete:
            write_final(folder, context.final_jobs or (), context.audit)
            folder.update_run(status=COMPLETE)
        folder.update_run(**run)
        if sealed:
            seal(folder)
    return folder.path
