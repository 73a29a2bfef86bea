# SPDX-License-Identifier: Apache-2.0
"""emptyDir volumes: a directory of the pod's own, on disk or in memory, for as long as the pod is on its node.

Volumes in memory are created by the pod's shim as part of the sandbox: each is a file system of its own with its own
size, and there is no mount on the host to clean up. Where nothing can be mounted they lie on disk like the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from springtide.api import quantity
from springtide.local.runtime.contract import Memory

_DEFAULT = 1 << 40
"""Bytes of a volume without a limit; the machine's memory limits it."""


class MediumError(ValueError):
    """A storage medium this node does not have."""


def in_memory(pod: Mapping[str, Any], volumes: Path, allocatable: Mapping[str, str], *, is_root: bool) -> list[Memory]:
    """The volumes of a pod that its shim has to create, with the sizes that kubelet would use."""
    spec = pod["spec"]
    group = (spec.get("securityContext") or {}).get("fsGroup") if is_root else None
    most = min((size for size in (_bytes(allocatable.get("memory")), _pod_limit(spec)) if size), default=_DEFAULT)
    found = [volume for volume in spec.get("volumes") or () if (volume.get("emptyDir") or {}).get("medium") == "Memory"]
    return [
        Memory(str(volumes / volume["name"]), min(_bytes(volume["emptyDir"].get("sizeLimit")) or most, most), group)
        for volume in found
    ]


def _pod_limit(spec: Mapping[str, Any]) -> int:
    """The memory limit of all containers together; 0 where one of them has no limit."""
    limits = [
        _bytes(((container.get("resources") or {}).get("limits") or {}).get("memory"))
        for container in spec.get("containers") or ()
    ]
    return sum(limits) if all(limits) else 0


def _bytes(text: Any) -> int:
    return quantity.parse(str(text)).value if text else 0


def make(source: Mapping[str, Any], directory: Path) -> Path:
    """The directory of an emptyDir on disk, created if it is missing."""
    medium = source.get("medium") or ""
    if medium not in ("", "Memory"):
        raise MediumError(f'unknown storage medium "{medium}"')
    if not directory.exists():
        directory.mkdir(parents=True)
        directory.chmod(0o777)  # a container of any user may use its scratch space
    return directory
