# SPDX-License-Identifier: Apache-2.0
"""Why a directory cannot hold a cluster: checked before any file is created.

Used by `tide up` and `tide doctor`. Problems that cannot be checked here (a full disk, a file system without locks) are
explained in `messages` when they occur.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from springtide.local.access.trust import user_name

ADVICE = "Choose a directory on a local disk that you may write to"
LONGEST_NAME = 255
LONGEST_PATH = 3400
"""In bytes. Linux allows 4,096 for the paths of all files, and those of a pod are some levels below."""
_NO_FILES = {
    "proc": "the kernel's information about processes",
    "sysfs": "the kernel's information about devices",
    "cgroup": "the kernel's control groups",
    "cgroup2": "the kernel's control groups",
    "debugfs": "the kernel's debugging interface",
    "tracefs": "the kernel's tracing interface",
    "securityfs": "the kernel's security interface",
    "configfs": "the kernel's configuration interface",
    "devpts": "terminals",
    "mqueue": "message queues",
    "bpf": "the kernel's BPF objects",
    "pstore": "the kernel's crash records",
    "efivarfs": "the firmware's variables",
}
"""File systems without regular files."""


def problem(path: Path) -> str | None:
    """The known problem of the directory and its cause, or None."""
    if path.resolve() == Path.home().resolve():
        return f"{path} is your home directory, and a cluster needs a directory of its own"
    if why := kernel_problem(path):
        return why
    nearest, where = _nearest(path)
    if not nearest.is_dir():
        what = "a symbolic link that leads nowhere" if nearest.is_symlink() and not nearest.exists() else "a file"
        return f"{where}{nearest} is {what}, and a cluster needs a directory"
    if os.statvfs(nearest).f_flag & os.ST_RDONLY:
        return f"{where}{nearest} is on a file system that is mounted read-only"
    if not os.access(nearest, os.W_OK | os.X_OK):
        return f"{where}{user_name(os.geteuid())} may not write to {nearest}, which belongs to {_owner(nearest)}"
    return None


def kernel_problem(path: Path) -> str | None:
    """The problem of a directory in a file system without regular files; its content says nothing about clusters."""
    nearest, where = _nearest(path)
    kind = _file_system(nearest)
    return f"{where}{nearest} holds {_NO_FILES[kind]}, not files (file system {kind})" if kind in _NO_FILES else None


def length_problem(path: Path) -> str | None:
    """The problem of a path too long for any file system. Checked first, because nothing can be read there."""
    name = max(path.parts, key=_bytes)
    if _bytes(name) > LONGEST_NAME:
        return f"the name {name[:20]}... has {_bytes(name)} bytes, and file systems allow {LONGEST_NAME}"
    if _bytes(str(path)) > LONGEST_PATH:
        size = _bytes(str(path))
        return (
            f"the path {str(path)[:20]}... has {size} bytes; at most {LONGEST_PATH} leave room for the cluster's files"
        )
    return None


def root_problem(path: Path) -> str | None:
    """The problem of the root directory."""
    if path.resolve() == Path("/"):
        return f"{path} is the root of all files, and a cluster needs a directory of its own"
    return None


def nearest_existing(path: Path) -> Path:
    """The directory itself, or its nearest existing parent; a file if one is in the way."""
    while not os.path.lexists(path) and path != path.parent:
        path = path.parent
    return path


def _nearest(path: Path) -> tuple[Path, str]:
    """The same, and the beginning of a message about it."""
    nearest = nearest_existing(path)
    return nearest, "" if nearest == path else f"{path} cannot be made: "


def _bytes(text: str) -> int:
    return len(os.fsencode(text))


def _file_system(path: Path) -> str:
    """The file system's type in Linux's naming; empty elsewhere."""
    device = path.lstat().st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    try:
        mounts = Path("/proc/self/mountinfo").read_text(errors="replace").splitlines()
    except OSError:
        return ""
    for line in mounts:
        fields, _, rest = line.partition(" - ")
        if fields.split()[2] == wanted:
            return re.split(r"\s", rest)[0]
    return ""


def _owner(path: Path) -> str:
    return user_name(path.stat().st_uid)
