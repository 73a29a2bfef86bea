# SPDX-License-Identifier: Apache-2.0
"""emptyDir volumes: a directory of the pod's own, on disk or in memory, for as long as the pod is on its node.

Volumes in memory are made by the pod's shim, of which they are a part of the sandbox: each a file system of its own
with a size of its own, and no mount on the host that somebody would have to undo. Where nothing can be mounted they
are directories of the system's own memory file system, and nothing holds them to their size.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from springtide.api import quantity
from springtide.local.runtime.contract import Memory

MEMORY = Path("/dev/shm")


_DEFAULT = 1 << 40
"""Bytes of a volume that nobody limits; the machine's memory does."""


class MediumError(ValueError):
    """A storage medium this node does not have."""


def in_memory(pod: Mapping[str, Any], volumes: Path, allocatable: Mapping[str, str], *, is_root: bool) -> list[Memory]:
    """The volumes of a pod that its shim shall make, as large as kubelet would make them."""
    spec = pod["spec"]
    group = (spec.get("securityContext") or {}).get("fsGroup") if is_root else None
    most = min((size for size in (_bytes(allocatable.get("memory")), _pod_limit(spec)) if size), default=_DEFAULT)
    found = [volume for volume in spec.get("volumes") or () if (volume.get("emptyDir") or {}).get("medium") == "Memory"]
    return [
        Memory(str(volumes / volume["name"]), min(_bytes(volume["emptyDir"].get("sizeLimit")) or most, most), group)
        for volume in found
    ]


def _pod_limit(spec: Mapping[str, Any]) -> int:
    """What all containers together may hold; 0 where one of them has no limit."""
    limits = [
        _bytes(((container.get("resources") or {}).get("limits") or {}).get("memory"))
        for container in spec.get("containers") or ()
    ]
    return sum(limits) if all(limits) else 0


def _bytes(text: Any) -> int:
    return quantity.parse(str(text)).value if text else 0


def make(source: Mapping[str, Any], uid: str, name: str, on_disk: Path) -> Path:
    """The directory of an emptyDir, made if it is not there yet.

    In memory it is a directory of the system's own memory file system: one for all containers, and it outlives each
    of them. Where that one is smaller than the volume may become, as in most containers, the volume is on disk:
    slower, but large enough.
    """
    medium = source.get("medium") or ""
    if medium not in ("", "Memory"):
        raise MediumError(f'unknown storage medium "{medium}"')
    fits = medium == "Memory" and _room() > _bytes(source.get("sizeLimit"))
    directory = _in_memory(uid) / name if fits else on_disk
    if not directory.exists():
        if fits:
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
