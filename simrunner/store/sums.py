"""What a folder's sealed files were when they were written: their SHA-256, in its `seal.json`.

Must not import numpy, pandas or pyarrow.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from simrunner.errors import RunFolderError
from simrunner.store import files

SEAL_JSON = "seal.json"


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal digits. Raises RunFolderError where it cannot be read."""
    return hashlib.sha256(files.read_bytes(path)).hexdigest()


def read_seal(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each sealed file by its path from the folder. Raises RunFolderError."""
    sums: dict[str, str] = files.read_json(folder / SEAL_JSON, dict[str, str])
    return sums


def compare(folder: Path, sums: Mapping[str, str]) -> None:
    """Raise RunFolderError, naming the file, for a sealed file that is gone or not what it was."""
    for name, sum_then in sums.items():
        if sha256_of(folder / name) != sum_then:
            raise RunFolderError("is damaged: it is not the file that simrunner wrote", place=folder / name)
