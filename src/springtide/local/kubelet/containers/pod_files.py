# SPDX-License-Identifier: Apache-2.0
"""Safe reading of files that programs of a pod can write.

A program may replace the expected file by a link, a pipe that blocks its reader, or a file of any size.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def read(path: Path, most: int) -> bytes:
    """A regular file of at most so many bytes; OSError for everything else."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _check_regular(file, path)
        data = os.pread(file, most + 1, 0)
    finally:
        os.close(file)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"more than {most} bytes", str(path))
    return data


def read_end(path: Path, most: int) -> bytes:
    """The last bytes of a regular file; OSError for everything else."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return os.pread(file, most, max(0, _check_regular(file, path) - most))
    finally:
        os.close(file)


def _check_regular(file: int, path: Path) -> int:
    """The size of a regular file; OSError for everything else."""
    status = os.fstat(file)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return status.st_size
