# SPDX-License-Identifier: Apache-2.0
"""Whether a container's program is on this machine at all, looked up before the container is started.

A container runtime finds out when it starts the program, and then the container has failed. For an image that no
environment was made for, a program that is missing means that the image is not here yet, which is no failure.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from springtide.local.runtime.contract import Mount


def is_missing(
    program: str, search_path: str, cwd: str, mounts: Sequence[Mount], private: Iterable[str], volumes: Iterable[str]
) -> bool:
    """Whether a container would surely not find it. Only the container itself sees into its `volumes`; in `private`
    directories there is nothing but what is mounted there."""
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
    """Where a container's path lies on this machine; empty for nowhere."""
    inner = max(
        (each for each in mounts if _inside(place, [each.target])), key=lambda each: len(each.target), default=None
    )
    if inner is not None:
        return inner.source + place[len(inner.target.rstrip("/")) :]
    return "" if _inside(place, hidden) else place


def _inside(place: str, directories: Iterable[str]) -> bool:
    return any(place == each or place.startswith(each.rstrip("/") + "/") for each in directories)
