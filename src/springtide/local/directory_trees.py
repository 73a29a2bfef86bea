# SPDX-License-Identifier: Apache-2.0
"""Removing directories that programs of pods have filled. Standard library only, and little of that: shims load it.

Programs nest directories as deep as they like, deeper than a path may be long and than one process may have files open.
"""

from __future__ import annotations

import errno
import os

DEEPEST, LONGEST_PATH = 64, 2048
"""Levels and characters of a path up to which directories are removed where they are."""


def remove_tree(path: str) -> None:
    """Remove a directory with all it holds, unreadable directories included; two processes may do so at once. Links are
    not followed."""
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
            if error.errno != errno.ENOTEMPTY:  # the other process has moved something up meanwhile
                raise


def _remove(directory: str, top: str, deep: list[str], levels: int) -> None:
    try:
        _empty(directory, top, deep, levels)
        os.rmdir(directory)
    except FileNotFoundError:
        pass  # removed by the other process


def _empty(directory: str, top: str, deep: list[str], levels: int) -> None:
    os.chmod(directory, 0o700)
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
        os.unlink(path)
    except FileNotFoundError:
        return  # by the other process


def _move_up(entry: os.DirEntry[str], top: str, deep: list[str]) -> None:
    """To where its path is short."""
    moved = f"{top}/.deep-{os.getpid()}-{entry.inode()}"
    try:
        os.chmod(entry.path, 0o700)  # a directory that changes its parent is written to
        os.rename(entry.path, moved)
    except FileNotFoundError:
        return
    deep.append(moved)
