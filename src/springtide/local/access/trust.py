# SPDX-License-Identifier: Apache-2.0
"""Checks that the cluster's directory can have been written only by this user.

A cluster uses the keys, credentials and objects in its directory. So the directory and these files must belong to this
user and be writable by no other user, and no other user may be able to replace the directory.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_CREDENTIALS = ("pki", "nodes", "operator")
"""Directories that are checked with everything below them; of the others only the top level is."""


class UntrustedError(Exception):
    """Another user may have written files of the cluster; the message names the file, the reason and the remedy."""


def check(directory: Path) -> None:
    """Raise UntrustedError unless only this user can have written the directory. Missing files are accepted."""
    for way in {directory.absolute(), directory.resolve()}:
        for above in way.parents:
            _check_way(above, directory)
    found = _stat(directory)
    if found is None:
        return
    _check_own(directory, found)
    if not stat.S_ISDIR(found.st_mode):
        return  # reported with a better message when it is used
    for path, held in _contents(directory):
        _check_own(path, held, also=0)  # files of root were written by root
        if path.parent != directory and path.suffix == ".pem" and held.st_mode & 0o077:
            raise UntrustedError(f"{path} holds a key that others may read\nMake it yours alone: chmod 600 {path}")


def _contents(directory: Path) -> Iterator[tuple[Path, os.stat_result]]:
    with os.scandir(directory) as entries:
        for entry in entries:
            path, found = directory / entry.name, entry.stat(follow_symlinks=False)
            yield path, found
            if stat.S_ISDIR(found.st_mode) and (entry.name in _CREDENTIALS or directory.name in _CREDENTIALS):
                yield from _contents(path)


def _check_way(above: Path, directory: Path) -> None:
    found = _stat(above)
    if found is None:
        return
    if found.st_uid not in (os.geteuid(), *_administrators()):
        raise UntrustedError(
            f"{directory} cannot be trusted: {above} belongs to {user_name(found.st_uid)}, who could replace it\n"
            "Choose another place: --data-dir DIR"
        )
    if _others_write(found) and not found.st_mode & stat.S_ISVTX:
        raise UntrustedError(
            f"{directory} cannot be trusted: others may write to {above}, and so replace it\n"
            f"Forbid it (chmod go-w {above}), or choose another place: --data-dir DIR"
        )


def _check_own(path: Path, found: os.stat_result, also: int | None = None) -> None:
    if found.st_uid not in (os.geteuid(), also):
        raise UntrustedError(
            f"{path} belongs to {user_name(found.st_uid)}, not to {user_name(os.geteuid())}\n"
            "Run the command as that user, or choose another place: --data-dir DIR"
        )
    if (stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode)) and _others_write(found):
        raise UntrustedError(
            f"others may write to {path}, so what lies there may not be yours\n"
            f"If you trust it, make it yours alone: chmod go-w {path}. Or choose another place: --data-dir DIR"
        )


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None  # it will be created, or reported with a better message when it is used


def _others_write(found: os.stat_result) -> bool:
    mode = found.st_mode
    return bool(mode & stat.S_IWOTH) or bool(mode & stat.S_IWGRP and not _is_private(found.st_gid))


@cache
def _is_private(group: int) -> bool:
    """Whether the group contains only this user, as where every user has a group of the same name."""
    if os.geteuid() == 0 and group == 0:
        return True
    try:
        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return found.gr_name == user.pw_name and found.gr_gid == user.pw_gid and set(found.gr_mem) <= {user.pw_name}


@cache
def _administrators() -> tuple[int, ...]:
    """Root and, in a user namespace that does not map root, the uid as which it appears there."""
    try:
        everyone = Path("/proc/self/uid_map").read_text().split()[2:3] == ["4294967295"]
        overflow = int(Path("/proc/sys/kernel/overflowuid").read_text())
    except (OSError, ValueError):
        return (0,)
    return (0,) if everyone else (0, overflow)


def user_name(uid: int) -> str:
    """The name of a user of this machine, for messages."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
