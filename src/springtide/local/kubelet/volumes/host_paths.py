# SPDX-License-Identifier: Apache-2.0
"""hostPath volumes: a path of this machine, after its type was checked."""

from __future__ import annotations

import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


class HostPathError(ValueError):
    """The path is not of the volume's type; the message is kubelet's."""


_CHECKS: Mapping[str, tuple[Callable[[int], bool], str]] = {
    "Directory": (stat.S_ISDIR, "a directory"),
    "DirectoryOrCreate": (stat.S_ISDIR, "a directory"),
    "File": (stat.S_ISREG, "a file"),
    "FileOrCreate": (stat.S_ISREG, "a file"),
    "Socket": (stat.S_ISSOCK, "a socket file"),
    "CharDevice": (stat.S_ISCHR, "a character device"),
    "BlockDevice": (stat.S_ISBLK, "a block device"),
}


def path_of(source: Mapping[str, Any]) -> Path:
    """The path of the volume; created first where the type requires it. OSError when that fails."""
    path, kind = Path(source["path"]), source.get("type") or ""
    if ".." in path.parts:
        raise HostPathError(f"invalid HostPath `{path}`: must not contain '..'")
    if not kind:
        if not path.exists():
            # Container runtimes create a directory for a missing path without a type.
            path.mkdir(parents=True)
        return path
    if kind not in _CHECKS:
        raise HostPathError(f"{kind} is an invalid volume type")
    if kind == "DirectoryOrCreate" and not path.exists():
        path.mkdir(parents=True)
    elif kind == "FileOrCreate" and not path.exists():
        path.touch(0o644)
    right, name = _CHECKS[kind]
    try:
        fits = right(path.stat().st_mode)
    except FileNotFoundError:
        fits = False
    if not fits:
        raise HostPathError(f"hostPath type check failed: {path} is not {name}")
    return path
