# SPDX-License-Identifier: Apache-2.0
"""Why pods of new objects would wait for ever on an embedded cluster of this machine: nothing runs for their image."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from springtide.local.environments import availability
from springtide.local.environments.shelf import Environments, default_root

Obj = Mapping[str, Any]
_LISTS: Final = ("initContainers", "containers")


def found(objects: Iterable[Obj]) -> list[str]:
    """Each once, with what to do. TensorBoard's are not among them: whoever starts it waits for it, and says why."""
    jobs = [obj for obj in objects if obj.get("kind") != "Deployment"]
    shelf = Environments(default_root())
    reasons = (availability.obstacle(shelf, container) for obj in jobs for container in _containers(obj))
    return list(dict.fromkeys(reason for reason in reasons if reason))


def _containers(part: Any) -> Iterator[Obj]:
    """Those of all pod templates in an object."""
    if not isinstance(part, Mapping):
        return
    for name, below in part.items():
        if name in _LISTS and isinstance(below, list):
            yield from below
        else:
            yield from _containers(below)
