# SPDX-License-Identifier: Apache-2.0
"""Removing directories that programs of pods have filled. Standard library only, and little of it: shims load it.

Programs may nest directories arbitrarily deep: beyond the length of a path and the number of open files of a process.
"""

from __future__ import annotations

import errno
import os
import stat
import sys

DEEPEST, LONGEST_PATH = 64, 2048
"""Levels and characters of a path up to which directories are removed in place."""
GET_FLAGS, SET_FLAGS, LOCKED = 0x80086601, 0x40086602, 0x10 | 0x20
"""Linux ioctls for a file's attributes; the attributes of `chattr +i` and `+a`, with which programs of root lock
files."""


def remove_tree(path: str) -> None:
    """Remove a directory with all its contents, unreadable directories included; two processes may do so at once. Links
    are not followed."""
    deep: list[str] = []
    while True:
        try:
            _empty(path, path, deep, DEEPEST)
            while deep:
                _remove(deep.pop(), path, deep, DEEPEST)
            os.rmdir(path)
            return
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:  # the other process has moved a directory up meanwhile
                raise


def _remove(directory: str, top: str, deep: list[str], levels: int) -> None:
    try:
        _empty(directory, top, deep, levels)
        os.rmdir(directory)
    except FileNotFoundError:
        pass  # removed by the other process


def _empty(directory: str, top: str, deep: list[str], levels: int) -> None:
    _open_up(directory)
    with os.scandir(directory) as found:
        entries = list(found)
    for entry in entries:
        if not entry.is_dir(follow_symlinks=False):
            _unlink(entry.path)
        elif levels and len(entry.path) < LONGEST_PATH:
            _remove(entry.path, top, deep, levels - 1)
        else:
            _move_up(entry, top, deep)


def _unlink(path: str) -> None:
    try:
        try:
            os.unlink(path)
        except PermissionError:
            _unlock(path)
            os.unlink(path)
    except FileNotFoundError:
        return  # removed by the other process


def _open_up(directory: str) -> None:
    try:
        os.chmod(directory, 0o700)
    except PermissionError:
        _unlock(directory)
        os.chmod(directory, 0o700)


def _unlock(path: str) -> None:
    """Clear these attributes, so that the file can be changed and removed. OSError where only another user could do
    that."""
    if sys.platform != "linux" or stat.S_IFMT(os.lstat(path).st_mode) not in (stat.S_IFDIR, stat.S_IFREG):
        return
    import fcntl  # noqa: PLC0415 - hardly ever needed

    opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        flags = int.from_bytes(fcntl.ioctl(opened, GET_FLAGS, bytes(8))[:4], sys.byteorder)
        fcntl.ioctl(opened, SET_FLAGS, (flags & ~LOCKED).to_bytes(8, sys.byteorder))
    finally:
        os.close(opened)


def _move_up(entry: os.DirEntry[str], top: str, deep: list[str]) -> None:
    """Move a directory directly below `top`, where its path is short."""
    moved = f"{top}/.deep-{os.getpid()}-{entry.inode()}"
    try:
        _open_up(entry.path)  # moving a directory to another parent writes to it
        os.rename(entry.path, moved)
    except FileNotFoundError:
        return
    deep.append(moved)
