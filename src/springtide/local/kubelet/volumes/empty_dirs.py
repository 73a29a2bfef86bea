# SPDX-License-Identifier: Apache-2.0
"""emptyDir volumes: a directory of the pod's own, on disk or in memory, for as long as the pod is on its node."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MEMORY = Path("/dev/shm")


class MediumError(ValueError):
    """A storage medium this node does not have."""


def make(source: Mapping[str, Any], uid: str, name: str, on_disk: Path) -> Path:
    """The directory of an emptyDir, made if it is not there yet.

    In memory it is a directory of the system's own memory file system: one for all containers, and it outlives each
    of them, with no mount that somebody would have to undo.
    """
    medium = source.get("medium") or ""
    if medium not in ("", "Memory"):
        raise MediumError(f'unknown storage medium "{medium}"')
    in_memory = medium == "Memory" and MEMORY.is_dir()
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


def _in_memory(uid: str) -> Path:
    return MEMORY / f"springtide-{uid}"
