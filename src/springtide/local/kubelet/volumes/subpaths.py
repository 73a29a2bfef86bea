# SPDX-License-Identifier: Apache-2.0
"""A part of a volume by subPath. Whatever links a program put into its volume, this never leads out of it."""

from __future__ import annotations

import os
import stat
from pathlib import Path


class SubpathError(ValueError):
    """A part that no volume can have; the message is kubelet's."""


class EscapeError(Exception):
    """A link leads out of the volume."""


def inside(volume: Path, subpath: str) -> Path:
    """The real path of a volume's part, made as a directory where it is missing. OSError when that is refused."""
    check(subpath)
    found = real_path(volume, subpath)
    if not found.exists():
        _make(Path(os.path.realpath(volume)), found)
    return found


def check(subpath: str) -> None:
    """SubpathError for what no volume can have."""
    if subpath.startswith("/"):
        raise SubpathError(f"error SubPath `{subpath}` must not be an absolute path")
    if ".." in subpath.split("/"):
        raise SubpathError(f"unable to provision SubPath `{subpath}`: must not contain '..'")


def real_path(volume: Path, subpath: str) -> Path:
    """Where a part of a volume really is, all links followed; nothing is made."""
    root = Path(os.path.realpath(volume))
    found = Path(os.path.realpath(root / subpath))
    if not found.is_relative_to(root):
        raise EscapeError(subpath)
    return found


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
    finally:
        os.close(here)
