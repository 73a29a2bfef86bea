# SPDX-License-Identifier: Apache-2.0
"""fsGroup: a volume's files belong to a group that all containers of the pod are in. Only root can do this."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_WRITE, _READ, _ENTER = 0o660, 0o440, 0o110


def give_to_group(root: Path, group: int, *, read_only: bool = False, only_on_mismatch: bool = False) -> None:
    """Give everything under `root` to the group, and directories the bit that makes new files follow."""
    if only_on_mismatch and _fits(root.stat(), group, read_only):
        return
    for folder, folders, names in os.walk(root, topdown=False):
        paths = [os.path.join(folder, name) for name in (*names, *folders)]
        for path in (*(path for path in paths if os.path.islink(path) or not os.path.isdir(path)), folder):
            _give(path, group, read_only)


def _give(path: str, group: int, read_only: bool) -> None:
    try:
        os.lchown(path, -1, group)
        status = os.lstat(path)
        if not stat.S_ISLNK(status.st_mode):
            os.chmod(path, stat.S_IMODE(status.st_mode) | _wanted(status.st_mode, read_only))
    except FileNotFoundError:
        pass  # a program removed it under our eyes


def _wanted(mode: int, read_only: bool) -> int:
    bits = _READ if read_only else _WRITE
    return bits | _ENTER | stat.S_ISGID if stat.S_ISDIR(mode) else bits


def _fits(status: os.stat_result, group: int, read_only: bool) -> bool:
    wanted = _wanted(status.st_mode, read_only)
    return stat.S_ISDIR(status.st_mode) and status.st_gid == group and status.st_mode & wanted == wanted
