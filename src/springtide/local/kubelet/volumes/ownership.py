# SPDX-License-Identifier: Apache-2.0
"""fsGroup: gives a volume's files to a group that all containers of the pod are in. Only root can do this."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

_WRITE, _READ, _ENTER = 0o660, 0o440, 0o110
_DEEPEST = 200
"""Maximum depth of directories; each level takes two descriptors during the walk."""


def give_to_group(root: Path, group: int, *, read_only: bool = False, only_on_mismatch: bool = False) -> None:
    """Give everything under `root` to the group, and set the setgid bit of directories, so that new files inherit it.

    Programs of other pods may move files concurrently, so nothing is done by path: replacing a file or a directory
    above it by a link has no effect.
    """
    if only_on_mismatch and _fits(root.stat(), group, read_only):
        return
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _give_below(folder, group, read_only, _DEEPEST)
        _give(folder, group, read_only)  # last: a matching root marks the whole tree as done
    finally:
        os.close(folder)


def _give_below(folder: int, group: int, read_only: bool, levels: int) -> None:
    if not levels:
        raise OSError(errno.ELOOP, f"a volume with directories more than {_DEEPEST} levels deep has no fsGroup")
    for name in os.listdir(folder):
        try:
            found = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        except FileNotFoundError:
            continue  # removed by a program in the meantime
        try:
            mode = os.fstat(found).st_mode
            if stat.S_ISLNK(mode):
                with suppress(FileNotFoundError):
                    os.chown(name, -1, group, dir_fd=folder, follow_symlinks=False)
                continue
            if stat.S_ISDIR(mode):
                inner = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=found)
                try:
                    _give_below(inner, group, read_only, levels - 1)
                finally:
                    os.close(inner)
            _give(found, group, read_only)
        finally:
            os.close(found)


def _give(descriptor: int, group: int, read_only: bool) -> None:
    place = f"/proc/self/fd/{descriptor}"
    os.chown(place, -1, group)
    mode = os.fstat(descriptor).st_mode
    os.chmod(place, stat.S_IMODE(mode) | _wanted(mode, read_only))


def _wanted(mode: int, read_only: bool) -> int:
    bits = _READ if read_only else _WRITE
    return bits | _ENTER | stat.S_ISGID if stat.S_ISDIR(mode) else bits


def _fits(status: os.stat_result, group: int, read_only: bool) -> bool:
    wanted = _wanted(status.st_mode, read_only)
    return stat.S_ISDIR(status.st_mode) and status.st_gid == group and status.st_mode & wanted == wanted
