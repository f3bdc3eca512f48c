"""The end of `run`, `analyze` and `replay`: judge a folder, keep the verdict, show it, and say how the command ends."""

from __future__ import annotations

from typing import Any

from simrunner.analysis.pipeline import Analysis, analyse, publish
from simrunner.cli.output import complain, say_json, say_page
from simrunner.errors import RecordingFailed
from simrunner.model.verdict import EXIT_CODE
from simrunner.report.text import verdict_page
from simrunner.store.folder import RunFolder


def conclude(folder: RunFolder, *, as_json: bool, also: dict[str, Any] | None = None) -> tuple[Analysis, int]:
    """Judge a run that has ended, write and show the verdict. Returns it with the exit code that it means.

    `also` are further keys of the JSON output. Raises RunFolderError for a damaged folder.
    """
    analysis = analyse(folder)
    try:
        publish(folder, analysis)
    except RecordingFailed as error:
        complain(f"The verdict is shown, but not kept: {error}")
    if as_json:
        say_json({**analysis.document(), "status": analysis.status, "folder": str(analysis.path), **(also or {})})
    else:
        say_page(verdict_page(analysis))
    return analysis, EXIT_CODE[analysis.verdict.verdict]
