# SPDX-License-Identifier: Apache-2.0
"""emptyDir volumes: a directory of the pod's own, on disk or in memory, for as long as the pod is on its node."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from springtide.api import quantity

MEMORY = Path("/dev/shm")


class MediumError(ValueError):
    """A storage medium this node does not have."""


def make(source: Mapping[str, Any], uid: str, name: str, on_disk: Path) -> Path:
    """The directory of an emptyDir, made if it is not there yet.

    In memory it is a directory of the system's own memory file system: one for all containers, and it outlives each
    of them, with no mount that somebody would have to undo. Where that one is smaller than the volume may become, as
    in most containers, the volume is on disk: slower, but large enough.
    """
    medium = source.get("medium") or ""
    if medium not in ("", "Memory"):
        raise MediumError(f'unknown storage medium "{medium}"')
    in_memory = medium == "Memory" and _room() > quantity.parse(str(source.get("sizeLimit") or "0")).value
    directory = _in_memory(uid) / name if in_memory else on_disk
    if not directory.exists():
        if in_memory:
            directory.parent.mkdir(mode=0o700, exist_ok=True)
        directory.mkdir(parents=True)
        directory.chmod(0o777)  # whoever a container runs as, it may use its scratch space
    return directory


def remove(uid: str) -> None:
    """Give back the memory of a pod that is gone. What lies on disk goes with the pod's directory."""
    shutil.rmtree(_in_memory(uid), ignore_errors=True)


def _room() -> int:
    """Bytes that the memory file system may hold; none where there is no such thing."""
    try:
        status = os.statvfs(MEMORY)
    except OSError:
        return 0
    return status.f_blocks * status.f_frsize


def _in_memory(uid: str) -> Path:
    return MEMORY / f"springtide-{uid}"
