# SPDX-License-Identifier: Apache-2.0
"""The frameworks that are measured beside ours, each in an environment that is made once, as the tests have them."""

from __future__ import annotations

import os
from pathlib import Path

from tests.e2e_elastic import environments
from tests.programs import wheels

from springtide.local.environments.making import Tools


def torch() -> Path:
    """A Python with PyTorch."""
    return environments.python(environments.TORCH)


def horovod() -> Path:
    """A Python with Horovod and a TensorFlow that it builds with; that takes minutes, once."""
    found = wheels.fetched(wheels.HOROVOD)
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = Path(os.environ.get("SPRINGTIDE_CACHE") or user / "springtide") / "environments"
    place = cache / wheels.HOROVOD.folder
    ready = place / "ready"
    if not ready.exists():
        cache.mkdir(parents=True, exist_ok=True)
        tools = Tools.found()
        tools.virtual_environment(place, "")
        tools.install(place, ["--no-index", "--find-links", str(found), *wheels.HOROVOD.all])
        ready.touch()
    return place / "bin" / "python"
