# SPDX-License-Identifier: Apache-2.0
"""Environments with a framework each, made once per version in the user's cache: they are gigabytes.

PyTorch's wheel in the ordinary registry is the one for GPUs, which works without one, and brings its libraries along.
"""

from __future__ import annotations

import fcntl
import os
import sys
from pathlib import Path

from springtide.local.environments.making import Tools

TORCH = ("torch==2.15.0", "numpy==2.4.6")
TENSORFLOW = ("tensorflow-cpu==2.21.0", "keras==3.15.1", "numpy==2.4.6")
ROOT = Path(__file__).parents[2]


def python(packages: tuple[str, ...]) -> Path:
    """The interpreter of an environment with these."""
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = Path(os.environ.get("SPRINGTIDE_CACHE") or user / "springtide") / "environments"
    version = ".".join(map(str, sys.version_info[:2]))
    place = cache / "-".join([*(each.replace("==", "-") for each in packages), f"python{version}"])
    cache.mkdir(parents=True, exist_ok=True)
    with open(f"{place}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run side by side
        ready = place / "ready"
        if not ready.exists():
            tools = Tools.found()
            tools.virtual_environment(place, "")
            tools.install(place, list(packages))
            ready.touch()
    return place / "bin" / "python"
