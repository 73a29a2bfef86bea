# SPDX-License-Identifier: Apache-2.0
"""Removing a cluster from disk: kills its remaining processes, then removes its files and nothing else.

Every step may be interrupted and repeated. A file `deleting` is written first and removed nearly last: a cluster with
this file is not started again. A cluster's files are known by name. Other files, symbolic links and mount points stay,
with the directories that contain them: users may keep other things in the data directory.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from springtide.local.datadir import DataDir
from springtide.local.directory_trees import remove_tree
from springtide.local.network import netd_client
from springtide.local.runtime import remains
from springtide.local.supervisor import leftovers

_UID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_FILES = r"kubeconfig|state\.db(-wal|-shm|-journal|-revision)?|server\.log(\.1)?|audit\.log(\.1)?|ending\.json"
_FOLDERS = {
    "bin": r"kubectl(\.py)?",
    "devices": r"lock|register\.json",
    "exec": rf"{_UID}(\.sock)?",
    "kept-logs": rf"lock|.+_{_UID}|\.removing-{_UID}",
    "logs": rf".+_{_UID}",
    "network": r"holder\..+|table\.json|outside\.lock",
    "nodes/*": r"agent\.lock|agent\.log(\.1)?|kubeconfig|.+\.pem",
    "nodes": r"(?!)",
    "operator": r"lock|kubeconfig|operator\.log(\.1)?|process\.json|host",
    "pki": r".+\.pem|ca\.lock",
    "pods": _UID,
    "volumes": rf"pvc-{_UID}",
}
"""A cluster's directories, inner ones first, and the names of the files it creates in them."""
_LAST = ("cluster.json", "deleting", "server.lock", "lock")
"""In this order: while one of the first two exists, the directory is recognized as a cluster's."""


class ForeignError(Exception):
    """The directory is not a cluster's."""


async def remove(directory: DataDir) -> list[Path]:
    """Removes a stopped cluster; returns the files that are not the cluster's and were kept.

    InUseError when it runs, ForeignError, UntrustedError, or OSError.
    """
    if not is_cluster(directory):
        raise ForeignError(str(directory.path))
    directory.acquire(to_delete=True)
    try:
        _mark(directory)
        leftovers.kill(directory)
        await netd_client.end(directory.path)
        _remove_contents(directory.path)
        for name in _LAST:
            _unlink(directory.path / name)
        left = sorted(directory.path.iterdir())
        if not left and not directory.path.is_symlink():
            directory.path.rmdir()
    finally:
        directory.release()
    return left


def is_cluster(directory: DataDir) -> bool:
    """Whether a cluster was created here, even if most of it is deleted."""
    if directory.last() is not None or directory.is_being_deleted():
        return True
    try:
        names = {entry.name for entry in os.scandir(directory.path)}
    except (FileNotFoundError, NotADirectoryError):
        return False
    return bool(names) and names <= set(_LAST)


def _mark(directory: DataDir) -> None:
    try:
        directory.mark_deleting()
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):  # a full disk may be the reason for the deletion
            raise


def _remove_contents(top: Path) -> None:
    for name, pattern in _FOLDERS.items():
        for folder in filter(_is_plain_directory, sorted(top.glob(name))):
            for path in _matching(folder, pattern):
                _remove(path)
            with contextlib.suppress(OSError):
                folder.rmdir()  # fails if other files are in it
    for path in _matching(top, _FILES):
        _unlink(path)


def _matching(folder: Path, pattern: str) -> Iterator[Path]:
    """Matching files, including half-written ones, which have temporary names until they are complete."""
    wanted = re.compile(rf"({pattern})|\.({pattern})\.[0-9a-f]{{8}}")
    return (path for path in sorted(folder.iterdir()) if wanted.fullmatch(path.name))


def _remove(path: Path) -> None:
    if not _is_plain_directory(path):
        _unlink(path)
    elif path.parent.name == "pods":
        remains.discard(path)
    else:
        remove_tree(str(path))


def _unlink(path: Path) -> None:
    """Removes a file or a socket of the cluster; links are foreign and kept."""
    try:
        mode = path.lstat().st_mode
        if stat.S_ISREG(mode) or stat.S_ISSOCK(mode):
            path.unlink()
    except FileNotFoundError:
        return


def _is_plain_directory(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and not os.path.ismount(path)
