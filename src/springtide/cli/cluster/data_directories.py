# SPDX-License-Identifier: Apache-2.0
"""Why a directory cannot hold a cluster: checked before any file is created.

Used by `tide up` and `tide doctor`. Problems that cannot be checked here (a full disk, a file system without locks) are
explained in `messages` when they occur.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from springtide.cli.speaking import shown
from springtide.local.access.trust import user_name
from springtide.messages import Text, text

ADVICE: Final = "Choose a directory on a local disk that you may write to"
LONGEST_NAME = 255
LONGEST_PATH = 3400
"""In bytes. Linux allows 4,096 for the paths of all files, and those of a pod are some levels below."""
_NO_FILES = {
    "proc": text("the kernel's information about processes"),
    "sysfs": text("the kernel's information about devices"),
    "cgroup": text("the kernel's control groups"),
    "cgroup2": text("the kernel's control groups"),
    "debugfs": text("the kernel's debugging interface"),
    "tracefs": text("the kernel's tracing interface"),
    "securityfs": text("the kernel's security interface"),
    "configfs": text("the kernel's configuration interface"),
    "devpts": text("terminals"),
    "mqueue": text("message queues"),
    "bpf": text("the kernel's BPF objects"),
    "pstore": text("the kernel's crash records"),
    "efivarfs": text("the firmware's variables"),
}
"""File systems without regular files."""


def problem(path: Path) -> str | None:
    """The known problem of the directory and its cause, or None."""
    if path.resolve() == Path.home().resolve():
        return shown(text("{path} is your home directory, and a cluster needs a directory of its own", path=path))
    if why := kernel_problem(path):
        return why
    nearest = nearest_existing(path)
    why_nearest = _unwritable(nearest)
    return shown(_about(path, nearest, why_nearest)) if why_nearest else None


def _unwritable(nearest: Path) -> Text | None:
    """The problem of something that exists."""
    if not nearest.is_dir():
        leads_nowhere = nearest.is_symlink() and not nearest.exists()
        return text(
            "{path} is a symbolic link that leads nowhere, and a cluster needs a directory"
            if leads_nowhere
            else "{path} is a file, and a cluster needs a directory",
            path=nearest,
        )
    if os.statvfs(nearest).f_flag & os.ST_RDONLY:
        return text("{path} is on a file system that is mounted read-only", path=nearest)
    if not os.access(nearest, os.W_OK | os.X_OK):
        user = user_name(os.geteuid())
        owner = _owner(nearest)
        return text("{user} may not write to {path}, which belongs to {owner}", user=user, path=nearest, owner=owner)
    return None


def kernel_problem(path: Path) -> str | None:
    """The problem of a directory in a file system without regular files; its content says nothing about clusters."""
    nearest = nearest_existing(path)
    kind = _file_system(nearest)
    if kind not in _NO_FILES:
        return None
    why = text("{path} holds {what}, not files (file system {kind})", path=nearest, what=_NO_FILES[kind], kind=kind)
    return shown(_about(path, nearest, why))


def length_problem(path: Path) -> str | None:
    """The problem of a path too long for any file system. Checked first, because nothing can be read there."""
    name = max(path.parts, key=_bytes)
    if _bytes(name) > LONGEST_NAME:
        return shown(
            text(
                "the name {name}... has {size} bytes, and file systems allow {most}",
                name=name[:20],
                size=_bytes(name),
                most=LONGEST_NAME,
            )
        )
    if (size := _bytes(str(path))) > LONGEST_PATH:
        return shown(
            text(
                "the path {path}... has {size} bytes; at most {most} leave room for the cluster's files",
                path=str(path)[:20],
                size=size,
                most=LONGEST_PATH,
            )
        )
    return None


def root_problem(path: Path) -> str | None:
    """The problem of the root directory."""
    if path.resolve() == Path("/"):
        return shown(text("{path} is the root of all files, and a cluster needs a directory of its own", path=path))
    return None


def with_advice(why: str | Text, option: str) -> Text:
    """The problem of a directory, and how to choose another one."""
    return text("{why}\n{advice}: {option}", why=why, advice=text(ADVICE), option=option)


def nearest_existing(path: Path) -> Path:
    """The directory itself, or its nearest existing parent; a file if one is in the way."""
    while not os.path.lexists(path) and path != path.parent:
        path = path.parent
    return path


def _about(path: Path, nearest: Path, why: Text) -> Text:
    """The problem of what exists nearest to the path, as the path's."""
    return why if nearest == path else text("{path} cannot be made: {why}", path=path, why=why)


def _bytes(name: str) -> int:
    return len(os.fsencode(name))


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
