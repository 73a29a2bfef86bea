# SPDX-License-Identifier: Apache-2.0
"""A part of a volume by subPath. It never leads out of the volume, whatever links a program created in it."""

from __future__ import annotations

import os
import stat
from pathlib import Path


class SubpathError(ValueError):
    """An invalid subPath; the message is kubelet's."""


class EscapeError(Exception):
    """A link leads out of the volume."""


def inside(volume: Path, subpath: str) -> Path:
    """The real path of a volume's part, created as a directory where it is missing. OSError when that fails."""
    check(subpath)
    found = real_path(volume, subpath)
    if not found.exists():
        _make(Path(os.path.realpath(volume)), found)
    return found


def check(subpath: str) -> None:
    """SubpathError for an invalid subPath."""
    if subpath.startswith("/"):
        raise SubpathError(f"error SubPath `{subpath}` must not be an absolute path")
    if ".." in subpath.split("/"):
        raise SubpathError(f"unable to provision SubPath `{subpath}`: must not contain '..'")


def real_path(volume: Path, subpath: str) -> Path:
    """The real path of a part of a volume, all links followed; nothing is created."""
    root = Path(os.path.realpath(volume))
    found = Path(os.path.realpath(root / subpath))
    if not found.is_relative_to(root):
        raise EscapeError(subpath)
    return found


def _make(root: Path, path: Path) -> None:
    """Create directories one by one below the volume's own, never through a link, which a program may have planted."""
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
