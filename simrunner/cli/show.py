"""`simrunner show`: explain one thing that has a name."""

from __future__ import annotations

from collections.abc import Callable
from inspect import getmodule
from typing import TYPE_CHECKING

import click

from simrunner.errors import DesignError, InputError, WorkloadError

if TYPE_CHECKING:
    from simrunner.report.page import Page


@click.command()
@click.argument("name")
def show(name: str) -> int:
    """Explain one thing that has a name.

    NAME is that of a workload, a design, an invariant, a fault or a strategy, or the path of a workload or a design.
    """
    from simrunner.cli.output import say_page

    say_page(_page_of(name))
    return 0


def _page_of(name: str) -> Page:
    """Return the page of what is named so, or lies at that path. Raises InputError with near misses."""
    from simrunner.cli.catalog import CATALOG
    from simrunner.config.hints import near_misses

    titles = {kind: titles_of() for kind, titles_of in CATALOG.items()}
    for kind, known in titles.items():
        if name in known:
            return _PAGES[kind](name, known[name])
    if "/" in name or name.endswith(".toml"):
        return (_workload if name.endswith(".toml") else _design)(name, "")
    everything = [other for known in titles.values() for other in known]
    meant = " or ".join(map(repr, near_misses(name, everything)))
    raise InputError(f"nothing is named {name!r}; {f'did you mean {meant}? ' if meant else ''}`simrunner list` shows the names")


def _workload(name: str, title: str) -> Page:
    from simrunner.config import load_workload
    from simrunner.report.describe import workload_page

    return workload_page(load_workload(name))


def _design(name: str, title: str) -> Page:
    from simrunner.config import load_design
    from simrunner.report.describe import design_page

    return design_page(load_design(name))


def _invariant(name: str, title: str) -> Page:
    from simrunner.checkers.registry import CHECKERS
    from simrunner.report.describe import invariant_page

    checker = next((checker for checker in CHECKERS if checker.name == name), None)
    module = None if checker is None else getmodule(checker.check)
    meaning = "" if module is None else (module.__doc__ or "").partition(": ")[2]
    needs = None if checker is None else checker.needs_operation
    return invariant_page(name, title, meaning, needs_operation=needs, promised_by=_promising(name), judged_by=_judging(name))


def _promising(name: str) -> list[str]:
    from simrunner.config import list_designs

    return [entry.name for entry in list_designs() if name in _promises(entry.name)]


def _judging(name: str) -> list[str]:
    from simrunner.config import list_workloads

    return [entry.name for entry in list_workloads() if name in _judges(entry.name)]


def _promises(design: str) -> frozenset[str]:
    """What a design promises; nothing where its files have a mistake, which is told to those who ask for it."""
    from simrunner.config import load_design

    try:
        return load_design(design).promises.invariants
    except DesignError:
        return frozenset()


def _judges(workload: str) -> tuple[str, ...]:
    """What a workload judges; nothing where its file has a mistake."""
    from simrunner.config import load_workload

    try:
        return load_workload(workload).judges
    except WorkloadError:
        return ()


def _titled(kind: str) -> Callable[[str, str], Page]:
    def page(name: str, title: str) -> Page:
        from simrunner.report.describe import title_page

        return title_page(kind, name, title)

    return page


_PAGES: dict[str, Callable[[str, str], Page]] = {
    "workloads": _workload,
    "designs": _design,
    "invariants": _invariant,
    "faults": _titled("fault"),
    "strategies": _titled("strategy"),
}
