# SPDX-License-Identifier: Apache-2.0
"""A part of a volume by subPath. Whatever links a program put into its volume, this never leads out of it."""

from __future__ import annotations

import os
import stat
from pathlib import Path


class SubpathError(ValueError):
    """The message is kubelet's, and tells nothing about the host."""


def inside(volume: Path, subpath: str) -> Path:
    """The real path of a volume's part, made as a directory where it is missing."""
    if subpath.startswith("/"):
        raise SubpathError(f"error SubPath `{subpath}` must not be an absolute path")
    if ".." in subpath.split("/"):
        raise SubpathError(f"unable to provision SubPath `{subpath}`: must not contain '..'")
    root = Path(os.path.realpath(volume))
    found = Path(os.path.realpath(root / subpath))
    _must_be_within(found, root, subpath)
    if not found.exists():
        _make(root, found)
    return found


def _must_be_within(path: Path, root: Path, subpath: str) -> None:
    if path != root and root not in path.parents:
        raise SubpathError(f"subpath `{subpath}` leads out of its volume")


def _make(root: Path, path: Path) -> None:
    """Directory by directory from the volume's own, never through a link: a program may put one in our way."""
    mode = stat.S_IMODE(root.stat().st_mode)
    here = os.open(root, os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in path.relative_to(root).parts:
            try:
                os.mkdir(part, dir_fd=here)
                fresh = True
            except FileExistsError:
                fresh = False
            below = os.open(part, os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
            os.close(here)
            here = below
            if fresh:
                os.fchmod(here, mode)
    except OSError as error:
        raise SubpathError(f"cannot make a directory in the volume: {error.strerror}") from None
    finally:
        os.close(here)
