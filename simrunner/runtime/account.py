"""Which operating-system account the embedded server runs as, and where its files are kept.

PostgreSQL refuses to run as root. As root the server gets an account that owns nothing else of value: a design's SQL
is run by a superuser of the database and so can do whatever that account may.
"""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from typing import NamedTuple

from platformdirs import user_cache_path

from simrunner.errors import ServerError

ROOT_CACHE = Path("/var/cache/simrunner")
_ACCOUNTS = ("nobody", "daemon", "postgres")
"""In order of preference. An account of its own would need a change to the system."""


class Account(NamedTuple):
    """The account that runs the server."""

    uid: int
    gid: int
    foreign: bool
    """It is not the one that runs simrunner: files are handed over to it, processes switch to it."""


def server_account() -> Account:
    """Return the account the server is to run as. Raises ServerError if root finds no ordinary one."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid(), foreign=False)
    for name in _ACCOUNTS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid, foreign=True)
    raise ServerError(
        f"PostgreSQL does not run as root, and there is no account named {' or '.join(_ACCOUNTS)}; "
        f"run simrunner as an ordinary user"
    )


def cache_folder() -> Path:
    """Return the folder of all clusters, made if need be: /var/cache/simrunner for root, the user's cache for others.

    Raises ServerError if it cannot be made.
    """
    folder = ROOT_CACHE if os.geteuid() == 0 else user_cache_path("simrunner")
    try:
        return open_folder(folder.absolute())
    except OSError as error:
        raise ServerError(
            f"no folder for the embedded server: {folder}: {error.strerror}; set XDG_CACHE_HOME to a folder that you can write to"
        ) from error


def open_folder(folder: Path) -> Path:
    """Make a folder that the server's account may pass through, whatever the umask. Parents that exist are left alone."""
    if not folder.parent.is_dir():
        open_folder(folder.parent)
    try:
        folder.mkdir()
    except FileExistsError:
        return folder
    folder.chmod(0o755)
    return folder


def private_folder(folder: Path, account: Account) -> Path:
    """Make a new folder that only the server's account (and root) may enter."""
    folder.mkdir(mode=0o700)
    hand_over(folder, account)
    return folder


def hand_over(folder: Path, account: Account) -> None:
    """Make a folder private to the server's account. Its parent must be ours, so that nobody can put a link in its place."""
    folder.chmod(0o700)
    if account.foreign:
        os.chown(folder, account.uid, account.gid, follow_symlinks=False)
