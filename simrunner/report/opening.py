"""What stands above a run before it begins. No pyarrow: the run's actors are not forked yet."""

from __future__ import annotations

from pathlib import Path

from rich.text import Text

from simrunner.analysis.facts import shown_path
from simrunner.report.page import Page
from simrunner.runtime.coordinator import Request


def opening_page(request: Request, postgres: str, path: Path) -> Page:
    """Return what stands above a run: the question, and everything that fixes the run."""
    design, workload = request.design, request.workload
    page = Page(Text(f"{workload.name}: {workload.title}", "bold"), " ".join(workload.question.split()), "")
    settings = ", ".join(f"{key}={value}" for key, value in workload.settings)
    page.add_facts(
        ("design", f"{design.name}: {design.title}"),
        ("seed", str(request.seed)),
        ("mode", f"{request.mode}, strategy {request.strategy}"),
        *([("settings", settings)] if settings else []),
        ("server", f"PostgreSQL {postgres}"),
        ("folder", shown_path(path)),
    )
    return page
