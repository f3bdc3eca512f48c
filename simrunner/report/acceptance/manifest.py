"""manifest.json: the SHA-256 of every file of the evidence, and what fixed the runs; and whether it is all still so."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from simrunner.errors import RunFolderError
from simrunner.report.acceptance.acceptance import Acceptance
from simrunner.report.acceptance.results import Result
from simrunner.runtime.settings import session_settings
from simrunner.store import files
from simrunner.store.folder import RunFolder
from simrunner.store.sums import sha256_of

MANIFEST_SCHEMA = 1
EVIDENCE = "evidence"
MANIFEST = "manifest.json"
SUM_KEY = "manifest_sha256"
"""Key of the acceptance's run.json."""


def write_manifest(folder: RunFolder, acceptance: Acceptance) -> None:
    """Write the manifest of the evidence as it lies there, and its own sum into run.json. Raises RecordingFailed."""
    path = folder.path / EVIDENCE / MANIFEST
    sums = {each.name: sha256_of(each) for each in sorted(path.parent.iterdir()) if each.name != MANIFEST}
    files.write_json(path, _manifest(folder.run(), acceptance, sums), durable=True)
    folder.update_run(**{SUM_KEY: sha256_of(path)})


def _manifest(run: Mapping[str, Any], acceptance: Acceptance, sums: Mapping[str, str]) -> dict[str, Any]:
    server = run["postgres"]
    return {
        "schema": MANIFEST_SCHEMA,
        "decision": acceptance.decision.word.value,
        "design": acceptance.design,
        "design_sha256": acceptance.design_sha256,
        "seed": acceptance.seed,
        "versions": {"simrunner": acceptance.simrunner, "python": platform.python_version(), "postgres": server["version"]},
        "settings": session_settings(server["major"], superuser=bool(run.get("superuser"))),
        "runs": {result.part.name: _run(result) for one in acceptance.experiments for result in one.results},
        "files": dict(sums),
    }


def _run(result: Result) -> dict[str, Any]:
    part, analysis = result.part, result.analysis
    return {
        "design": part.design,
        "mode": part.mode,
        "verdict": result.word.value,
        "events": None if analysis is None else len(analysis.history.events),
        "history_sha256": None if analysis is None else analysis.history_sha256,
    }


def verify(folder: RunFolder) -> tuple[str, ...]:
    """Return what is wrong with the evidence of an acceptance, a sentence each, naming the file; nothing if it is intact."""
    place = folder.path / EVIDENCE
    if not (place / MANIFEST).is_file():
        return (f"{EVIDENCE}/{MANIFEST} is missing: nothing vouches for the evidence",)
    if folder.run().get(SUM_KEY) != sha256_of(place / MANIFEST):
        return (f"{EVIDENCE}/{MANIFEST} is not the one that the acceptance wrote",)
    manifest: Manifest = files.read_json(place / MANIFEST, Manifest)
    sums = manifest.files
    found = [_compared(place / name, total) for name, total in sums.items()]
    extra = sorted(each.name for each in place.iterdir() if each.name not in sums and each.name != MANIFEST)
    return (*(line for line in found if line), *(f"{EVIDENCE}/{name} is not in the manifest" for name in extra))


def _compared(path: Path, total: str) -> str | None:
    try:
        return None if sha256_of(path) == total else f"{EVIDENCE}/{path.name} was altered"
    except RunFolderError:
        return f"{EVIDENCE}/{path.name} is missing"


class Manifest(msgspec.Struct, frozen=True):
    """What a manifest keeps, as far as it is compared."""

    decision: str | None
    """None: there is no manifest that can be read."""
    files: dict[str, str]
    """Name -> SHA-256."""


def read_manifest(folder: RunFolder) -> Manifest:
    """Return the decision and the files that the manifest keeps."""
    try:
        return files.read_json(folder.path / EVIDENCE / MANIFEST, Manifest)
    except RunFolderError:
        return Manifest(None, {})
