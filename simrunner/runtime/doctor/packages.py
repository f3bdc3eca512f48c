"""The versions that a run rests on."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib import metadata

from psycopg import pq

from simrunner import __version__
from simrunner.model.remark import Level, Remark
from simrunner.runtime.binaries import PACKAGE

NEEDED = ("psycopg", "pyarrow", "pandas", "sqlglot")


def needed(*, embedded: bool) -> tuple[str, ...]:
    """Return the packages without which nothing can be run and stored."""
    return (*NEEDED, PACKAGE) if embedded else NEEDED


def versions(packages: Sequence[str]) -> list[tuple[str, str]]:
    """Return name and version of what is installed."""
    libpq = pq.version()
    found = [(package, version) for package in packages if (version := _version(package)) is not None]
    return [
        ("simrunner", __version__),
        ("python", platform.python_version()),
        *found,
        ("libpq", f"{libpq // 10_000}.{libpq % 10_000} ({pq.__impl__})"),
    ]


def missing(packages: Sequence[str]) -> list[Remark]:
    """Name each package that is not installed."""
    return [
        Remark(
            Level.ERROR,
            "package-missing",
            f"the package {package} is not installed",
            "install simrunner with its dependencies: make setup, or pip install simrunner",
        )
        for package in packages
        if _version(package) is None
    ]


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
