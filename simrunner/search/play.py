"""One run: its folder, its server, its execution. Loads no numpy, pandas or pyarrow: actors are forked here."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from simrunner import __version__
from simrunner.analysis.terms import terms_document
from simrunner.runtime import database, external, server
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.coordinator import Request, Watcher, execute
from simrunner.store.context import context_document
from simrunner.store.folder import RunFolder
from simrunner.store.tape import Setup


def server_for(dsn: str | None, major: int) -> AbstractContextManager[Cluster]:
    """Return the server behind a DSN, or else an embedded one of the major version, for the time of a `with` block."""
    return server.embedded(major) if dsn is None else external.connect(dsn)


def begin(request: Request, cluster: Cluster, results: Path, started: datetime) -> RunFolder:
    """Create and lock the folder of a run and write down all that determines it. Raises RecordingFailed."""
    facts = _facts(request, cluster)
    return RunFolder.create(results, request.workload.name, request.design.name, request.seed, started, facts=facts)


def begin_part(request: Request, cluster: Cluster, path: Path, started: datetime) -> RunFolder:
    """Create and lock the folder of a run that is part of another, at a path, as `begin` does. Raises RecordingFailed."""
    facts = _facts(request, cluster)
    return RunFolder.create_part(path, request.workload.name, request.design.name, request.seed, started, facts=facts)


def _facts(request: Request, cluster: Cluster) -> dict[str, object]:
    return {
        **asdict(_setup(request, cluster)),
        "postgres": {"major": cluster.major, "version": cluster.version_text},
        "context": context_document(request.design, request.workload, request.mode),
        "terms": terms_document(request.workload),
        "paths": {"design": request.design.folder, "workload": str(Path(request.workload.path).resolve())},
    }


def play(request: Request, folder: RunFolder, cluster: Cluster, watcher: Watcher) -> None:
    """Run the request in a database of its own. Raises what `execute` raises; what was recorded is kept in the folder."""
    with database.create(cluster, folder.path.name) as own:
        execute(request, folder, own, watcher)


def _setup(request: Request, cluster: Cluster) -> Setup:
    return Setup(
        simrunner=__version__,
        design=request.design.name,
        design_sha256=request.design.sha256,
        workload=request.workload.name,
        workload_sha256=request.workload.sha256,
        settings=request.workload.settings,
        seed=request.seed,
        mode=request.mode,
        strategy=request.strategy,
        postgres_major=cluster.major,
        coalesced=request.coalesce,
    )
