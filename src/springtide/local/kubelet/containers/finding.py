# SPDX-License-Identifier: Apache-2.0
"""Checking whether a container's program exists on this machine, before the container is started.

A container runtime detects a missing program when it starts it, and then the container has failed. For an image without
an environment, a missing program means that the image is not available yet, which is not a failure.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from springtide.local.runtime.contract import Mount


def is_missing(
    program: str, search_path: str, cwd: str, mounts: Sequence[Mount], private: Iterable[str], volumes: Iterable[str]
) -> bool:
    """Whether a container would certainly not find the program. Only the container itself sees into its `volumes`;
    `private` directories contain nothing but mounts."""
    named = "/" in program
    places = [os.path.join(cwd, program)] if named else [f"{each}/{program}" for each in search_path.split(":")]
    kept, hidden = tuple(volumes), tuple(private)
    for place in map(os.path.normpath, places):
        if _inside(place, kept):
            return False
        real = _real(place, mounts, hidden)
        if real and (os.path.lexists(real) if named else os.path.isfile(real) and os.access(real, os.X_OK)):
            return False
    return True


def _real(place: str, mounts: Sequence[Mount], hidden: Sequence[str]) -> str:
    """The path on this machine of a container's path; empty if there is none."""
    inner = max(
        (each for each in mounts if _inside(place, [each.target])), key=lambda each: len(each.target), default=None
    )
    if inner is not None:
        return inner.source + place[len(inner.target.rstrip("/")) :]
    return "" if _inside(place, hidden) else place


def _inside(place: str, directories: Iterable[str]) -> bool:
    return any(place == each or place.startswith(each.rstrip("/") + "/") for each in directories)
