"""Asks ext4 to put each new folder in a part of the disk of its own.

An ext4 without a journal, as many virtual machines have, does not reuse the inodes of files deleted in the last minutes and
searches past them for each new file. Databases come and go here with 300 files each; in one place that made the creation of the
next take 300 ms instead of 20 ms. Other file systems refuse the request, and nothing is lost.
"""

from __future__ import annotations

import array
import fcntl
import os
from contextlib import suppress
from pathlib import Path

# https://man7.org/linux/man-pages/man2/ioctl_iflags.2.html
_FS_IOC_GETFLAGS = 0x80086601
_FS_IOC_SETFLAGS = 0x40086602
_FS_TOPDIR_FL = 0x00020000


def spread_children(folder: Path) -> None:
    """Let the file system treat the children of a folder as unrelated."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            flags = array.array("l", [0])
            fcntl.ioctl(descriptor, _FS_IOC_GETFLAGS, flags)
            flags[0] |= _FS_TOPDIR_FL
            fcntl.ioctl(descriptor, _FS_IOC_SETFLAGS, flags)
        finally:
            os.close(descriptor)
