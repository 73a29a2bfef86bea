# SPDX-License-Identifier: Apache-2.0
"""A directory of files that change atomically, laid out on disk as in kubelet.

    volume/..2026_11_16_04_30_00.123456789/hosts    the files
    volume/..data -> ..2026_11_16_04_30_00.123456789
    volume/hosts  -> ..data/hosts

New contents are written beside the old, then `..data` is renamed over: a reader sees the old files or the new ones,
never a mixture, and a program may watch `..data`. After a crash at any point the next write repairs the volume.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

DATA = "..data"
_NEXT = "..data_tmp"
_LONGEST_NAME, _LONGEST_PATH = 255, 4096


class File(NamedTuple):
    data: bytes
    mode: int
    owner: int | None = None
    """A uid, where the agent may change owners."""


class PathError(ValueError):
    """A path inside a volume that kubelet rejects; the message is kubelet's."""


def write(volume: Path, files: Mapping[str, File], now: datetime, own: Callable[[Path], None] | None = None) -> bool:
    """Make the volume hold exactly these files; returns whether they changed. `own` is applied before they are
    visible."""
    wanted = {_clean(path): file for path, file in files.items()}
    _make_directory(volume)
    current = _current(volume)
    changed = current is None or _contents(current) != {path: file.data for path, file in wanted.items()}
    if changed:
        fresh = _fresh_directory(volume, now)
        _write_files(fresh, wanted)
        if own is not None:
            own(volume)
        _publish(volume, fresh)
    _show(volume, wanted)
    _sweep(volume)
    return changed


def _clean(path: str) -> str:
    if not path:
        raise PathError('invalid path: must not be empty: ""')
    if path.startswith("/"):
        raise PathError(f"invalid path: must be relative path: {path}")
    if len(path) > _LONGEST_PATH:
        raise PathError(f"invalid path: must be less than or equal to {_LONGEST_PATH} characters")
    parts = path.split("/")
    if ".." in parts:
        raise PathError(f"invalid path: must not contain '..': {path}")
    if any(len(part) > _LONGEST_NAME for part in parts):
        raise PathError(f"invalid path: filenames must be less than or equal to {_LONGEST_NAME} characters")
    if parts[0].startswith(".."):
        raise PathError(f"invalid path: must not start with '..': {path}")
    return os.path.normpath(path)


def _current(volume: Path) -> Path | None:
    try:
        current = volume / os.readlink(volume / DATA)
    except FileNotFoundError:
        return None
    return current if current.is_dir() else None


def _contents(directory: Path) -> dict[str, bytes]:
    return {
        os.path.relpath(os.path.join(folder, name), directory): Path(folder, name).read_bytes()
        for folder, _, names in os.walk(directory)
        for name in names
    }


def _fresh_directory(volume: Path, now: datetime) -> Path:
    fresh = Path(tempfile.mkdtemp(prefix=now.strftime("..%Y_%m_%d_%H_%M_%S."), dir=volume))
    fresh.chmod(0o755)
    return fresh


def _make_directory(path: Path) -> None:
    """Open to other users whatever the umask: a container may run as another user than the agent."""
    if not path.exists():
        _make_directory(path.parent)
        path.mkdir(exist_ok=True)
        path.chmod(0o755)


def _write_files(directory: Path, files: Mapping[str, File]) -> None:
    for path, file in files.items():
        target = directory / path
        _make_directory(target.parent)
        target.write_bytes(file.data)
        target.chmod(file.mode)
        if file.owner is not None:
            os.lchown(target, file.owner, -1)


def _publish(volume: Path, fresh: Path) -> None:
    draft = volume / _NEXT
    draft.unlink(missing_ok=True)
    draft.symlink_to(fresh.name)
    draft.replace(volume / DATA)


def _show(volume: Path, files: Mapping[str, File]) -> None:
    for name in {path.partition("/")[0] for path in files}:
        link = volume / name
        if not link.is_symlink():
            link.symlink_to(f"{DATA}/{name}")


def _sweep(volume: Path) -> None:
    """Remove dangling links, and every generation of files but the current one."""
    current = os.readlink(volume / DATA)
    for entry in list(os.scandir(volume)):
        if entry.is_symlink():
            if entry.name != DATA and not os.path.lexists(os.path.join(volume, DATA, entry.name)):
                os.unlink(entry.path)
        elif entry.name.startswith("..") and entry.name != current:
            shutil.rmtree(entry.path)
